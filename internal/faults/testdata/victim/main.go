// Command victim passes the point "here" three times and prints each passing.
package main

import (
	"fmt"

	"redrain/internal/faults"
)

func main() {
	for i := range 3 {
		fmt.Println("before", i+1)
		faults.Point("here")
		faults.Point("there")
	}
	fmt.Println("alive")
}
