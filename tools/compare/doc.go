// Command compare measures redrain beside the textbook design (tools/compare/baseline) and beside a bare loop of writes
// (tools/compare/bare): the same real servers, the same load, the same run, taking turns. It prints a table of
// ratios, because on one machine with other work on it a ratio is all that can be trusted.
//
//	make compare                    # all rows, some twelve minutes
//	make compare ROWS=taps,idle     # some of them
//	go run -C tools ./compare -h
//
// The servers are child processes; the players are this process. Processor time is what the kernel says that each
// process has used (user and system), memory is what it holds of each in RAM. It reads /proc, so it runs on Linux.
package main
