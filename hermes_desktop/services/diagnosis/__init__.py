"""Diagnosis: the checks of ``hermes-desktop doctor``, and crash reports. Changes nothing else."""
