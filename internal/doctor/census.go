package doctor

import (
	"errors"
	"fmt"
	"os"

	"prywalk/internal/census"
)

// census: whether the clocks of all threads can be read at once. Nothing is missing
// where they cannot: they are read one by one.
func (c *checkup) census() Finding {
	if !c.live {
		return Finding{}
	}
	all, err := census.New()
	if err != nil {
		return Finding{"census by BPF", OK, fmt.Sprintf("not to be had, threads' clocks are read one by one (%v)", err), ""}
	}
	if err := errors.Join(all.Take(os.Getpid()), all.Close()); err != nil {
		return Finding{"census by BPF", OK, fmt.Sprintf("does not work, threads' clocks are read one by one (%v)", err), ""}
	}
	return Finding{"census by BPF", OK, "works: record --census bpf reads the clocks of all threads at once", ""}
}
