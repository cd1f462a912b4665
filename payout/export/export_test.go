package export

// Value is for tests.
type Value = value

// Known is for tests.
var Known = known
