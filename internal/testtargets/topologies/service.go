// SPDX-License-Identifier: Apache-2.0

package topologies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"prywalk/internal/show/chains"
)

// Service is a chain of processes, each of which asks the next one.
type Service struct {
	Languages []string   // c, python or go
	Mutex     []bool     // of each process: a thread waits for another one, which does the work
	Links     []string   // pipe, unix or tcp, to the next one
	Phases    [][]string // of each process: compute:MS, nap:MS, call
}

// Numbers returns the random numbers from which the service of a seed is drawn.
func Numbers(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 57)) }

// Random returns a service of two to four processes.
func Random(r *rand.Rand) (s Service) {
	n := 2 + r.IntN(3)
	for i := range n {
		s.Languages = append(s.Languages, []string{"c", "python", "go"}[r.IntN(3)])
		s.Mutex = append(s.Mutex, i > 0 && s.Languages[i] != "go" && r.IntN(2) == 0)
		phases := []string{}
		if i > 0 {
			for range 1 + r.IntN(2) {
				phases = append(phases, fmt.Sprintf("%s:%d", []string{"compute", "nap"}[r.IntN(2)], 200+r.IntN(300)))
			}
		}
		if i < n-1 {
			phases = slices.Insert(phases, r.IntN(len(phases)+1), "call")
			s.Links = append(s.Links, []string{"pipe", "unix", "tcp"}[r.IntN(3)])
		}
		s.Phases = append(s.Phases, phases)
	}
	return s
}

// Stand makes one phase last for ever, and all others short. It returns the chain of the first process's wait from then
// on.
func (s *Service) Stand(r *rand.Rand) (want string) {
	last := 1 + r.IntN(len(s.Phases)-1)
	chain, end := []string{"0 call"}, ""
	for i := 1; i <= last; i++ {
		if s.Mutex[i] {
			chain = append(chain, place(i, "await_mutex"))
		}
		chain = append(chain, place(i, "call"))
	}
	for i, phases := range s.Phases {
		stands := r.IntN(len(phases))
		for phases[stands] == "call" && len(phases) > 1 {
			stands = (stands + 1) % len(phases)
		}
		for j, phase := range phases {
			switch name, _, timed := strings.Cut(phase, ":"); {
			case i == last && j == stands:
				phases[j], chain[len(chain)-1] = name+":3600000", place(i, name)
				end = string(map[string]chains.Kind{"compute": chains.Running, "nap": chains.Timer}[name])
			case timed:
				phases[j] = name + ":1"
			}
		}
	}
	return strings.Join(chain, ", ") + ": " + end
}

// String returns for example "c →tcp python, mutex (nap:200 call) →pipe go (compute:300)".
func (s *Service) String() string {
	var b strings.Builder
	for i, language := range s.Languages {
		if i > 0 {
			b.WriteString(" →" + s.Links[i-1] + " ")
		}
		if b.WriteString(language); s.Mutex[i] {
			b.WriteString(", mutex")
		}
		if i > 0 {
			b.WriteString(" (" + strings.Join(s.Phases[i], " ") + ")")
		}
	}
	return b.String()
}
