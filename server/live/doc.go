// Package live shows running campaigns to this node's rooms. Schedule sends the phases and waves of a rain. Counts
// counts taps and their times. Figures reports the counts, and adds up the reports of all nodes.
package live
