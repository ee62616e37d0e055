// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

type placement struct {
	name   string
	cpu    int // of the target; −1: any
	before []string
}

func placements() []placement {
	all := []placement{{"freely", -1, nil}}
	if last := runtime.NumCPU() - 1; last > 0 {
		all = append(all, placement{"apart", last, []string{"taskset", "-c", strconv.Itoa(last - 1)}})
	}
	return all
}

func (p placement) target(s *subject) error {
	if p.cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(p.cpu)
	for _, tid := range s.runners {
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
	}
	return nil
}
