"""An app whose jobs take their time: what the tests of real worker processes run."""
