"""Browser tests by job: each file does one task of a user with a real mouse and counts the
clicks.
"""
