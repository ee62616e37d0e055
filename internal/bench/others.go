package bench

import (
	"os"
	"strconv"
	"strings"

	"prywalk/internal/procmem"
)

// disturbed is the share of one processor from which on what others took makes a row no
// measure of the tool.
const disturbed = 0.1

// others adds up what other programs, and the machine's hypervisor, took of the processors
// in the windows without a tool: then only the target is meant to run.
type others struct {
	pid         int // 0: what is the target's own cannot be told
	busy0       float64
	target0     uint64
	busy, spent float64 // seconds: of all processors, and of the target
	seconds     float64
}

func (o *others) begin() {
	o.busy0 = busySeconds()
	o.target0, _ = procmem.ProcessCPU(o.pid)
}

func (o *others) end(seconds float64) {
	target, err := procmem.ProcessCPU(o.pid)
	busy := busySeconds()
	if err != nil || busy < o.busy0 {
		return
	}
	o.busy += busy - o.busy0
	o.spent += float64(target-o.target0) / 1e9
	o.seconds += seconds
}

// share is what they took, as a share of one processor; nil if it is not known.
func (o *others) share() *float64 {
	if o.seconds == 0 || o.pid == 0 {
		return nil
	}
	x := max(0, o.busy-o.spent) / o.seconds
	return &x
}

// busySeconds gives the time that all processors have been busy, also for other guests of
// the same machine (proc_stat(5): all fields of "cpu" but idle and iowait; the guest fields
// are in user and nice already), in ticks of a hundredth of a second.
func busySeconds() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	sum := 0.0
	for i, field := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, _ := strconv.ParseFloat(field, 64)
		sum += n
	}
	return sum / 100
}
