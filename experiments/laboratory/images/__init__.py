"""Make the guest images and benchmark trees that runs start from."""
