package rain

// Clock tells the time in Unix milliseconds on the cluster's clock (see grab.Clock), never the
// machine's own. Tests pass a function of their own.
type Clock func() int64
