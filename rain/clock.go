package rain

// Clock returns Unix milliseconds on the cluster's clock, never on the machine's (see grab.Clock). Tests pass a fake.
type Clock func() int64
