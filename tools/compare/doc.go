// Command compare measures redrain beside the textbook design (folder baseline). They take turns on the same real
// servers under the same load. It prints a table of ratios, because on a machine with other work only ratios can be
// trusted.
//
//	make compare                    # all rows, some eight minutes
//	make compare ROWS=taps,idle     # some of them
//	go run -C tools ./compare -h
//
// The servers are child processes; the players are in this process. Processor time is user and system time of each
// process, memory is its resident set; the kernel counts both in /proc. So it runs on Linux only.
package main
