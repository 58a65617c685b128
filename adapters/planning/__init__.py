"""Planners: they fill `SGRPlanResult`."""
