// Package live is what this node shows of the campaigns while they run: Schedule tells the rooms the phases of their
// rain and sends its waves, Counts counts taps and how long they took, and Figures reports them and adds up what all
// nodes have reported.
package live
