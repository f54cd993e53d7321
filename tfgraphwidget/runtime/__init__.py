"""All that changes a live graph or a session, and all that runs one."""
