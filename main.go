// redrain is a server for red packet rain (红包雨). Its command line is in internal/cli; see README.md.
package main

import (
	"os"

	"redrain/internal/cli"
)

// The browsers' files are built from the sources in web and committed, so that building the program needs Go only.
//
//go:generate go test ./web/bundle -run ^TestDistIsBuiltFromTheSources$ -update

func main() { os.Exit(cli.Main(os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)) }
