"""Planners: who fills `SGRPlanResult`."""
