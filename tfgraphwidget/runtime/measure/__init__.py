"""What tensors are in a run, how long ops take, how much memory and how many FLOPs."""
