package torture

import (
	"strconv"
	"testing"
	"time"
)

func TestExecFromAThreadThatIsNotTheFirst(t *testing.T) {
	for _, rung := range []string{"ladder", "freeze"} {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "execs", "200", "first")
			r := record(t, p.pid, "--rung", rung)
			told := make(chan bool)
			go func() {
				defer close(told)
				for {
					line, err := p.out.ReadString('\n')
					if err != nil || line == "ready\n" {
						return
					}
				}
			}()
			select {
			case <-told:
			case <-time.After(40 * time.Second):
				t.Errorf("the target hangs: %s; prywalk: %s", describe(p.pid), describe(r.cmd.Process.Pid))
				r.signal(9)
				p.kill()
				return
			}
			unharmed(t, p.pid)
			s := r.stop()
			t.Logf("%d frozen, failed %v", s.Frozen, s.Failed)
			p.verdict()
		})
	}
}

var _ = strconv.Itoa
