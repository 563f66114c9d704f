package telemetry

// Version is what was built: the linker sets it.
var Version = "dev"
