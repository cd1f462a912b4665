// redrain is a server for red packet rain (红包雨). Its command line is in internal/cli; README.md tells the rest.
package main

import (
	"os"

	"redrain/internal/cli"
)

// What the browsers load is made from the sources in web and committed, so that building the program takes Go alone.
//
//go:generate go run ./web/build

func main() { os.Exit(cli.Main(os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)) }
