"""The file formats that an editor writes, a module each."""
