"""State of sessions: values of variables, renewal, transfer of state to another session."""
