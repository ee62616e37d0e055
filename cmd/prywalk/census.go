package main

import (
	"fmt"

	"prywalk/internal/census"
	"prywalk/internal/exit"
)

// openCensus prepares to count threads as --census says: nil is the plain way. With
// auto it is the plain way wherever the other is not to be had; prywalk doctor tells why.
func openCensus(way string) (*census.Census, error) {
	switch way {
	case "proc":
		return nil, nil
	case "auto":
		if c, err := census.New(); err == nil {
			return c, nil
		}
		return nil, nil
	case "bpf":
		c, err := census.New()
		if err != nil {
			return nil, fmt.Errorf("--census bpf: %w; leave it out, and /proc is read", err)
		}
		return c, nil
	}
	return nil, exit.Usage("--census %q: choose proc, bpf or auto", way)
}

// closeCensus lets go of it.
func closeCensus(c *census.Census) {
	if c != nil {
		_ = c.Close() // of memory that was only read
	}
}
