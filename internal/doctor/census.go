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
	if err == nil {
		err = errors.Join(all.Take(os.Getpid()), all.Close())
	}
	if err == nil {
		return finding("bpf", OK, "works: record --census bpf reads the CPU clocks of all threads at once", "")
	}
	why := err.Error()
	if errors.Is(err, census.ErrDenied) {
		why = "needs root"
	}
	return finding("bpf", Info, fmt.Sprintf("unavailable (%s); only matters above 1,000 threads", why), "")
}
