package differential

import (
	"syscall"
	"testing"
	"time"
	"slices"
	"fmt"
	"os"
	"strings"

	"prywalk/internal/testtargets"
)

func TestProto(t *testing.T) {
	names := testtargets.Names()
	if v := os.Getenv("ONLY"); v != "" { names = strings.Split(v, ",") }
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t0 := time.Now()
			target := testtargets.Run(t, name, testtargets.Options{})
			fmt.Println(name, "start", time.Since(t0))
			for _, pid := range target.PIDs() { syscall.Kill(pid, syscall.SIGSTOP) }
			time.Sleep(100*time.Millisecond)
			for _, pid := range target.PIDs() {
				a := time.Now()
				p := prywalkDump(t, pid)
				b := time.Now()
				e := euStacks(t, pid)
				c := time.Now()
				g := gdbStacks(t, pid)
				d := time.Now()
				p2 := prywalkDump(t, pid)
				fmt.Println(name, pid, len(p.Threads), len(e), len(g), "times", b.Sub(a), c.Sub(b), d.Sub(c))
				for i, th := range p.Threads {
					var pcs, pcs2 []uint64
					for _, f := range th.Frames { pcs = append(pcs, uint64(f.PC)) }
					for _, f := range p2.Threads[i].Frames { pcs2 = append(pcs2, uint64(f.PC)) }
					same2 := slices.Equal(pcs, pcs2)
					ge, ee := slices.Equal(pcs, g[th.TID]), slices.Equal(pcs, e[th.TID])
					if ge && ee && same2 && th.Complete { continue }
					fmt.Printf("  %d %s complete %v %s same %v gdb %v eu %v\n", th.TID, th.Name, th.Complete, th.StopReason, same2, ge, ee)
					for i := 0; i < max(len(pcs), len(g[th.TID]), len(e[th.TID])); i++ {
						s := ""
						if i < len(pcs) { f := th.Frames[i]; s += fmt.Sprintf("%16x %-10s", pcs[i], f.Method) } else { s += fmt.Sprintf("%27s", "") }
						if i < len(g[th.TID]) { s += fmt.Sprintf(" g %16x", g[th.TID][i]) } else { s += fmt.Sprintf(" g %16s", "") }
						if i < len(e[th.TID]) { s += fmt.Sprintf(" e %16x", e[th.TID][i]) } else { s += fmt.Sprintf(" e %16s", "") }
						if i < len(pcs) { f := th.Frames[i]; s += fmt.Sprintf(" %s %s", f.Function, f.Module) }
						fmt.Println("    ", s)
						if i > 40 { break }
					}
				}
			}
		})
	}
}
