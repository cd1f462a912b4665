package confirm

// ErrNoReplica is for the tests outside the package.
var ErrNoReplica = errNoReplica
