package look

// Idle reports whether no look is pending: nobody is stopped, or asked to stop.
func (l *Looker) Idle() bool {
	for _, t := range l.pending {
		if t != nil {
			return false
		}
	}
	return true
}
