"""How it looks: what is visible, where it stands, as arrays. No TensorFlow here."""
