// Package lua holds the Redis scripts of redrain, one file each. Redis runs a script as one step that nothing can
// come between, so a script is where a rule about money or order is kept; the Go code around it carries arguments
// and results, which package grab/store does.
//
// Each file begins with the same header:
//
//	KEYS       every key, as a real pattern, and what lies under it
//	ARGV       every argument and its unit
//	RETURNS    every answer and every error
//	ATOMICITY  what holds when the script is cut off, refused or run twice
//
// A script touches the keys that it is given and builds none, so that Redis Cluster can tell where it has to run.
// The package's test reads each script and holds it to this header and this rule.
package lua
