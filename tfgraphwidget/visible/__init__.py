"""Which scopes, groups, ops, badges and bundled edges are drawn while some scopes are open and some ops hidden."""
