// Package faults names the moments at which a process may die without losing or doubling money, and lets a test
// make it die exactly there.
//
// In a normal build [Point] is empty and the compiler removes its calls. In a build with the tag "faults" the
// process kills itself, as kill -9 would, when it passes the point that the environment variable REDRAIN_FAULT_AT
// names:
//
//	REDRAIN_FAULT_AT=settle.after_commit      die at the first passing
//	REDRAIN_FAULT_AT=settle.after_commit:3    die at the third
package faults
