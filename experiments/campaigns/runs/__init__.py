"""One run of a campaign: a job comes in, figures or a reason go to its row. Open `sequence` first."""
