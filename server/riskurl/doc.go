// Package riskurl asks the operator's own risk system about players, by signed requests, at four moments: a guest is
// made, somebody says hello, our rules want to hold a player, and money is to leave. What it says goes where verdicts
// go, and --risk says whether anything follows from it. A tap never waits for it. Who asks waits for at most the
// time-out; a system that is late, away or unreadable has given no answer, and --risk-default says what holds then.
package riskurl
