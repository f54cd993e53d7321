"""Nothing of a file runs unasked: ops with real effects, in every place of a file, under every
method of the editor.

`hostile` builds the ops, `places` puts them into files, `verbs` are the calls of a user, `canary`
notices what an op has done, and `cells` tries one op in one place under one method in a process of
its own. `bombs` are files of a few kilobytes that compute without bounds. `python -m
tests.untrusted.matrix` tries everything and prints a table.
"""
