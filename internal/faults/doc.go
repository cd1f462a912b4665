// Package faults names the moments at which a crash must not lose or double money, and lets a test kill the process
// exactly there.
//
// In a normal build [Point] is empty and the compiler removes its calls. In a build with the tag "faults" the process
// kills itself like kill -9 at the point in the environment variable REDRAIN_FAULT_AT:
//
//	REDRAIN_FAULT_AT=settle.after_commit      die at the first passing
//	REDRAIN_FAULT_AT=settle.after_commit:3    die at the third
package faults
