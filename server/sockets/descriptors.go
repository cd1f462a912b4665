package sockets

// BudgetOf returns the number of connections within a limit of descriptors, beside files, back ends and a reserve for
// monitoring. It returns 0 if there is no limit.
func BudgetOf(descriptors int) int {
	if descriptors == 0 {
		return 0
	}
	others := max(128, descriptors/16)
	return max(narrowMost, descriptors-others-narrowMost)
}
