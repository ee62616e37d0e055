// SPDX-License-Identifier: Apache-2.0

// Package topologies has services of known chains: processes in C, Python and Go, each of which asks the next one over
// a pipe, a Unix socket or TCP, as web → app → database.
//
// A service is drawn from random numbers. Each of its processes writes down when each phase began and ended: it
// computes, naps, or waits for the next one's answer. So it is known, at each time, where the first process's wait
// ends, and through which links it passes. [Service.Compare] compares that with a recording's chains, [Whole] a dump's
// with those of a service that stands.
package topologies
