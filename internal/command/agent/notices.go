// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/printable"
	"prywalk/internal/host/outfile"
	"prywalk/internal/store/otlp"
)

// notices logs each condition once while it lasts, a message that is too large and a file that is unreadable once in
// all. It counts losses. Not for concurrent use.
type notices struct {
	metrics  *Metrics
	receiver string
	logf     func(format string, args ...any)

	accepted            bool
	reportedUnreachable bool // since the last accepted message; so are reportedFull and reportedRefusal
	reportedFull        bool
	reportedRefusal     string
	reportedRejections  []string
	reportedTooLarge    bool
	reportedSpoolError  bool
	reportedUnreadable  bool
}

func (n *notices) spooled(s *spool, which string, messages int) {
	if messages > 0 {
		n.logf("--spool %s: messages "+which+": %d", s, messages)
	}
}

func (n *notices) queueFull(intervals int, step string) {
	n.metrics.addLost(lostFull, intervals)
	if intervals > 0 && !n.reportedFull {
		n.reportedFull = true
		n.logf("the queue for %s is full: the oldest messages are dropped and counted (%s); %s", n.receiver, lostFull, step)
	}
}

func (n *notices) spoolWritten(s *spool, err error) {
	if err != nil && !n.reportedSpoolError {
		n.logf("--spool %s: %v; messages wait in memory, up to %d MiB; %s", s, err, maxWaitingBytes>>20, spoolStep(err))
	}
	n.reportedSpoolError = err != nil
}

func (n *notices) damaged(s *spool, m *message, err error) {
	n.metrics.addLost(lostDamaged, m.intervals)
	n.logf("--spool %s: %s is damaged and removed, %d intervals are lost (%s): %v; check the disk",
		s, m.file, m.intervals, lostDamaged, err)
}

func (n *notices) unreadable(s *spool, m *message, err error) {
	if !n.reportedUnreadable {
		n.reportedUnreadable = true
		n.logf("--spool %s: %s cannot be read now, it stays and is tried again: %v; check the disk, the file's owner and "+
			"the limit of open files", s, m.file, cause(err))
	}
}

// indivisible counts a lost message, and reports the first one of a single point. lowered means that the receiver's
// refusals lowered the limit.
func (n *notices) indivisible(err error, intervals, size, limit int, lowered bool) {
	if !errors.Is(err, otlp.ErrSinglePoint) {
		n.metrics.addLost(lostDamaged, intervals)
		return
	}
	n.metrics.addLost(lostTooLarge, intervals)
	if !n.reportedTooLarge {
		n.reportedTooLarge = true
		bound, step := "--max-message", "raise --max-message"
		if lowered {
			bound, step = "lowered after the receiver refused one", "raise the receiver's limit, then start the agent again"
		}
		n.logf("one interval takes %d bytes, more than a message may have (%s, %d): it is dropped and counted (%s); %s",
			size, bound, limit, lostTooLarge, step)
	}
}

// maxReportedRejections bounds the lines: the receiver words the reasons.
const maxReportedRejections = 8

func (n *notices) messageAccepted(rejected int64, why string) {
	if !n.accepted || n.reportedUnreachable || n.reportedRefusal != "" {
		again := ""
		if n.accepted {
			again = " again"
		}
		n.logf("%s takes messages%s", n.receiver, again)
	}
	n.accepted, n.reportedUnreachable, n.reportedFull, n.reportedRefusal = true, false, false, ""
	why = cmp.Or(receiversText(why), "no reason given")
	if rejected > 0 && len(n.reportedRejections) < maxReportedRejections && !slices.Contains(n.reportedRejections, why) {
		n.reportedRejections = append(n.reportedRejections, why)
		n.logf("%s rejected %d profiles of a message, which are lost and counted: %s; see the receiver's log", n.receiver,
			rejected, why)
	}
}

const maxReceiversText = 200 // bytes

func receiversText(s string) string { return printable.String(s[:min(len(s), maxReceiversText)]) }

func (n *notices) unreachable(f *failure) {
	if !n.reportedUnreachable {
		n.reportedUnreachable = true
		again := ""
		if p := f.pause(); p > maxRetryPause {
			again = fmt.Sprintf(" after %v", p.Round(time.Second))
		}
		n.logf("cannot send to %s, messages wait and are sent again%s: %v; %s", n.receiver, again, cause(f.err),
			nextStep(f))
	}
}

func (n *notices) messageRefused(f *failure, intervals int) {
	why := cmp.Or(f.why, lostRefused)
	if f.kind == tooLarge {
		why = lostTooLarge
	}
	n.metrics.addLost(why, intervals)
	if n.reportedRefusal != why {
		n.reportedRefusal = why
		n.logf("%s refuses messages, which are dropped and counted (%s): %v; %s", n.receiver, why, cause(f.err),
			remedies[why])
	}
}

func (n *notices) limitLowered(size, limit int) {
	n.logf("%s refuses a message of %d bytes as too large: messages have at most %d from now on; "+
		"set --max-message %d, or raise the receiver's limit", n.receiver, size, limit, limit)
}

var errToken = errors.New("--bearer-token")

// redacted hides the password; in what is no URL of a host, all up to the last @.
func redacted(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Redacted()
	}
	return endpoint[strings.LastIndexByte(endpoint, '@')+1:]
}

// isTimeout is also of the TLS handshake's.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// cause drops the URL, which log lines contain already.
func cause(err error) error {
	if isTimeout(err) {
		return errors.New("no answer in time")
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

func nextStep(f *failure) string {
	err := f.err
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	var dns *net.DNSError
	text := err.Error()
	switch {
	case errors.Is(err, errToken):
		return "name a file with the token, which the agent's user may read"
	case errors.As(err, &unknown):
		return "give the certificate of the authority that signed the receiver's with --ca"
	case errors.As(err, &host):
		return "use a name in --endpoint that the receiver's certificate is for"
	case errors.As(err, &alert), strings.Contains(text, "remote error: tls:"):
		return "give a certificate that the receiver accepts with --cert and --key"
	case errors.As(err, &header), strings.Contains(text, "gave HTTP response to HTTPS client"):
		return "use http:// in --endpoint, or set up TLS in the receiver"
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		return "use https:// in --endpoint"
	case errors.As(err, &dns):
		return "check the host name in --endpoint"
	case errors.Is(err, unix.ECONNREFUSED):
		return "start the receiver, or check the port in --endpoint: 4317 is usual for grpc, 4318 for http"
	case isTimeout(err):
		return "check the network, a firewall (IPAddressAllow of a unit) and the receiver's load, or raise --timeout"
	case f.busy:
		return "see the receiver's log: it is busy, or what it exports to does not answer"
	}
	return "check --endpoint and --protocol: 4317 is the usual port for grpc, 4318 for http"
}

var remedies = map[string]string{
	lostUnauthorized: "check --bearer-token, --cert and --header",
	lostNotFound:     "check --endpoint and --protocol, and that the receiver has a pipeline of profiles",
	lostTooLarge:     "raise the receiver's limit: it refuses messages of less than 64 KiB",
	lostRefused:      "see the receiver's log: it may read another release of the profiles signal (v1development)",
}

func spoolStep(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "free space there, or lower --spool-size"
	case errors.Is(err, outfile.ErrShared):
		return "give a directory of the agent's user, mode 0700, below directories of root or that user"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return "give a directory that the agent's user can write to"
	}
	return "give another directory"
}
