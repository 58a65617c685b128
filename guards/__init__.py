"""Pure checks: values in, a finding out. A guard never raises for a failed check and never writes for users."""
