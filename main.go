// redrain is a server for red packet rain (红包雨). Its command line is in internal/cli; README.md tells the rest.
package main

import (
	"os"

	"redrain/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)) }
