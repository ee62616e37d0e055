// SPDX-License-Identifier: Apache-2.0

// Bursts measures the error of shares where threads run in short bursts: a server measures by its threads' clocks how
// much of its CPU time one function takes.
//
//	go -C benchmarks run ./bursts -prywalk bin/prywalk -n 10
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/benchmarks/command"
)

const (
	connections = 8
	between     = 2 * time.Millisecond
	function    = "main.work"
)

func main() {
	var (
		prywalk = flag.String("prywalk", "bin/prywalk", "the program to measure")
		n       = flag.Int("n", 10, "recordings with each engine")
		long    = flag.Duration("d", 4*time.Second, "length of a recording")
		freq    = flag.Int("F", 499, "ticks a second")
		serve   = flag.Bool("serve", false, "be the server")
		load    = flag.String("load", "", "be the client of the server at this address")
		steps   = flag.Int("work", 20000, "steps of the function in a request, some nanoseconds each")
	)
	flag.Parse()
	err := command.AtRoot()
	switch {
	case err != nil:
	case *serve:
		err = server(*steps)
	case *load != "":
		client(*load)
	default:
		err = measure(*prywalk, *n, *freq, *steps, *long)
	}
	if err != nil {
		log.Fatal(err)
	}
}

type counts struct{ Work, CPU int64 }

var spent atomic.Int64

func clock(id int32) int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(id, &ts)
	return ts.Nano()
}

//go:noinline
func work(x uint64, steps int) uint64 {
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func server(steps int) error {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		runtime.LockOSThread()
		before := clock(unix.CLOCK_THREAD_CPUTIME_ID)
		x := work(uint64(before), steps)
		spent.Add(clock(unix.CLOCK_THREAD_CPUTIME_ID) - before)
		runtime.UnlockOSThread()
		fmt.Fprintln(w, x)
	})
	http.HandleFunc("/counts", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(counts{spent.Load(), clock(unix.CLOCK_PROCESS_CPUTIME_ID)})
	})
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, nil) //nolint:gosec // for a benchmark on the loopback interface
}

func client(addr string) {
	for range connections {
		go func() {
			for c := (&http.Client{Transport: &http.Transport{}}); ; time.Sleep(between) {
				_ = get(c, "http://"+addr+"/", io.Discard)
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func get(c *http.Client, url string, to io.Writer) error {
	r, err := c.Get(url) //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(to, r.Body)
	return err
}

func part(args ...string) (cmd *exec.Cmd, out io.Reader, stop func(), err error) {
	cmd = exec.Command("/proc/self/exe", args...) //nolint:noctx // its input ends with this program
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	return cmd, out, func() {
		_ = in.Close()
		_ = cmd.Wait()
	}, cmd.Start()
}

func measure(prywalk string, n, freq, steps int, long time.Duration) error {
	s, out, stop, err := part("-serve", "-work", strconv.Itoa(steps))
	if err != nil {
		return err
	}
	defer stop()
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		return err
	}
	_, _, end, err := part("-load", addr)
	if err != nil {
		return err
	}
	defer end()
	time.Sleep(time.Second)
	fmt.Print("| engine | true, % | shown, % | error, points | standard error of sampling | load |\n" +
		"| --- | --- | --- | --- | --- | --- |\n")
	for _, engine := range []string{"perf", "ptrace"} {
		var e errorsOf
		for range n {
			if err := e.record(prywalk, engine, s.Process.Pid, addr, freq, long); err != nil {
				return err
			}
		}
		e.print(engine)
	}
	return nil
}

type errorsOf struct {
	n                   int
	sum, squares, worst float64
}

func (e *errorsOf) record(prywalk, engine string, pid int, addr string, freq int, long time.Duration) error {
	dir, err := os.MkdirTemp("", "prywalk-bursts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, stats := filepath.Join(dir, "r.pb.gz"), filepath.Join(dir, "stats.json")
	before, err := ask(addr)
	if err != nil {
		return err
	}
	cmd := exec.Command(prywalk, "record", "-q", "--engine", engine, //nolint:noctx // -d bounds its time
		"-F", strconv.Itoa(freq), "-d", long.String(), "-p", strconv.Itoa(pid), "-o", file, "--stats", stats)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	after, err := ask(addr)
	if err != nil {
		return err
	}
	actual := 100 * float64(after.Work-before.Work) / float64(after.CPU-before.CPU)
	shown, err := share(prywalk, file)
	if err != nil {
		return err
	}
	var st struct {
		Running int64 `json:"kernel_sampled"`
		Stopped int64 `json:"stopped"`
	}
	text, err := os.ReadFile(stats)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &st); err != nil {
		return err
	}
	p := actual / 100
	chance := 100 * math.Sqrt(p*(1-p)/float64(max(st.Running+st.Stopped, 1)))
	off := shown - actual
	fmt.Printf("| %s | %.1f | %.1f | %+.1f | %.1f | %s |\n", engine, actual, shown, off, chance, loadNow())
	e.n++
	e.sum, e.squares, e.worst = e.sum+off, e.squares+off*off, max(e.worst, math.Abs(off))
	return nil
}

func (e *errorsOf) print(engine string) {
	n := float64(e.n)
	mean := e.sum / n
	fmt.Printf("\n%s: %d recordings, mean error %+.1f points, standard deviation %.1f, largest %.1f\n\n",
		engine, e.n, mean, math.Sqrt(max(e.squares-n*mean*mean, 0)/max(n-1, 1)), e.worst)
}

func ask(addr string) (c counts, err error) {
	var text strings.Builder
	if err := get(http.DefaultClient, "http://"+addr+"/counts", &text); err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(text.String()), &c)
}

func share(prywalk, file string) (float64, error) {
	//nolint:noctx // it ends with its input, a file
	out, err := exec.Command(prywalk, "report", "-q", "--json", "-n", "-1", file).Output()
	if err != nil {
		return 0, err
	}
	var r struct {
		Total     map[string]float64
		Functions []struct {
			Name  string
			Total map[string]float64
		}
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, err
	}
	for i := range r.Functions {
		if r.Functions[i].Name == function {
			return 100 * r.Functions[i].Total["cpu"] / r.Total["cpu"], nil
		}
	}
	return 0, nil
}

func loadNow() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
