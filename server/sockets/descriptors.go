package sockets

// BudgetOf is how many connections fit into a limit of descriptors, beside files, back ends, and what is kept for who
// asks how the process does; 0 where there is no limit.
func BudgetOf(descriptors int) int {
	if descriptors == 0 {
		return 0
	}
	others := max(128, descriptors/16)
	return max(narrowMost, descriptors-others-narrowMost)
}
