package rain

// Clock tells the time in Unix milliseconds on the cluster's clock, never the machine's own (see
// grab.Clock). Tests pass a fake.
type Clock func() int64
