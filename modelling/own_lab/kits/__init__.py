"""Kits (experiments.campaigns.kits): what all who ran one measured. Open `selectors` first."""
