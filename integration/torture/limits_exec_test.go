package torture

const limitVariable = "PRYWALK_TORTURE_LIMIT"

func execLimited(string) {}
