// SPDX-License-Identifier: Apache-2.0

// Package tracer looks at the threads of the targets at each tick, and hands over what it saw.
//
// It runs on one goroutine, on an OS thread of its own with a raised priority. It copies what it must (package look)
// and tells the accountant (package handover). It allocates nothing in a steady state, and never waits for anything
// but the targets. When it looks is decided in package schedule, whom it leaves alone in package idle, and where it
// sleeps in package skid. tick.go has a tick's way from top to bottom.
package tracer
