package archive

// SetRows sets how many rows one step removes.
func (a *Archiver) SetRows(n int64) { a.rows = n }

// StopAt has the archiver end its work with an error where a process may die.
func (a *Archiver) StopAt(stop func(point string) error) { a.stop = stop }
