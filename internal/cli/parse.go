package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/config"
)

// parse reads a command line and all settings. It returns the command to carry out, or every fault, or neither where it
// has printed help.
//
// kong stops at the first unknown argument, so parsing is repeated without that argument to find further faults.
func (a *App) parse(args []string) (command, []string) {
	var faults []string
	skipped := -1 // the index of the last unknown flag
	for {
		p, err := a.attempt(args)
		if p.helped {
			return nil, nil
		}
		text, unknown := "", false
		if err != nil {
			text = err.Error()
			unknown = strings.HasPrefix(text, "unknown flag ") || strings.HasPrefix(text, "unexpected argument ")
		}
		if !unknown {
			return a.finish(p, faults, text)
		}
		at := offender(args, text)
		if at < 0 {
			return nil, append(faults, text)
		}
		switch {
		case strings.HasPrefix(text, "unknown flag "):
			faults = append(faults, text)
			skipped = at
		case at == skipped: // probably the value of that flag
			skipped = -1
		case at == 0: // what follows it belongs to the unknown command
			return nil, append(faults, fmt.Sprintf("there is no command %q; see redrain --help", args[0]))
		default:
			faults = append(faults, text)
		}
		args = slices.Delete(slices.Clone(args), at, at+1)
	}
}

// offender finds the argument that kong's message names, the word after "unknown flag" or "unexpected argument".
func offender(args []string, text string) int {
	word, _, _ := strings.Cut(text, ", did you mean ")
	word = strings.TrimPrefix(strings.TrimPrefix(word, "unknown flag "), "unexpected argument ")
	return slices.IndexFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return arg != "" && (arg == word || arg[0] == '-' && name == word ||
			len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && arg[:2] == word) // -xyz: kong names -x
	})
}

// attempt is one pass over a command line. It has a grammar of its own, because kong writes into it.
type attempt struct {
	context  *kong.Context
	settings *settings
	helped   bool
}

func (a *App) attempt(args []string) (*attempt, error) {
	t := &attempt{settings: &settings{env: a.Env, from: map[string]string{}}}
	parser := a.newParser(kong.Exit(func(int) { t.helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}), kong.ValueFormatter(helpText),
		kong.ExplicitGroups(groups), t.settings)
	var err error
	t.context, err = parser.Parse(args)
	return t, err
}

func (a *App) newParser(options ...kong.Option) *kong.Kong {
	parser, err := kong.New(&grammar{}, append(options, kong.Name("redrain"), kong.Description(description),
		kong.PostBuild(fillIn), kong.PostBuild(config.AddSecretFiles), kong.Writers(a.Stdout, a.Stderr))...)
	if err != nil {
		panic("cli: the grammar is wrong: " + err.Error()) // a mistake of ours that every test would meet
	}
	return parser
}

// finish adds the faults of the settings to those of the arguments.
func (a *App) finish(t *attempt, faults []string, parseFault string) (command, []string) {
	if parseFault != "" {
		return nil, append(append(faults, t.settings.faults...), parseFault)
	}
	a.selected = t.context.Selected()
	files := t.settings.readSecrets(a.selected)
	faults = append(faults, t.settings.faults...)
	selected, ok := reflect.TypeAssert[command](a.selected.Target.Addr())
	if !ok {
		return nil, append(faults, fmt.Sprintf("%s is not a command", t.context.Command()))
	}
	switch c := selected.(type) {
	case *serveCmd:
		c.SecretFiles = files // its check includes the tags, as that of config check does
	case *configCheckCmd:
		c.SecretFiles = files
	case *doctorCmd:
		c.SecretFiles = files
	case *configPrintCmd:
		c.describe(t.context, t.settings.from, files)
	default:
		faults = append(faults, config.CheckTags(slices.DeleteFunc(slices.Clone(a.selected.Flags),
			func(f *kong.Flag) bool { return slices.Contains(t.settings.refused, f.Name) }))...)
	}
	if r, ok := selected.(interface{ checkServer() error }); ok {
		if err := r.checkServer(); err != nil {
			faults = append(faults, "--server: "+err.Error())
		}
	}
	if c, ok := selected.(checked); ok {
		faults = append(faults, c.check()...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return selected, nil
}

// helpText adds the name of the environment variable to a flag's help. kong's own tag for this would read the variable
// from the process instead of App.Env.
func helpText(v *kong.Value) string {
	if v.Flag == nil || v.Name == "help" || onlyTyped(v) {
		return v.Help
	}
	return strings.TrimSuffix(config.Help(v), ".") + " (" + config.EnvName(v.Name) + ")."
}

// grammar is the command line: each field is a command, each field of a command a flag or an argument.
type grammar struct {
	Config string `help:"Read settings from a YAML file. Its keys are the flags' names." placeholder:"FILE"`

	Serve    serveCmd `cmd:"" default:"withargs" help:"Run the server. This is what redrain does without a command."`
	Campaign struct {
		Create  campaignCreateCmd           `cmd:"" help:"Fund a campaign from its sponsor and stock its packets."`
		Preview campaignPreviewCmd          `cmd:"" help:"Cut a budget for a look: what packets a campaign would have. Nothing is kept."`
		List    list[none, campaign]        `cmd:"" call:"GET campaigns" help:"List the campaigns."`
		Show    call[campaignArg, campaign] `cmd:"" call:"GET campaigns/{campaign}" help:"Show a campaign and its rains."`
		Pause   call[campaignArg, campaign] `cmd:"" call:"POST campaigns/{campaign}/pause" help:"Refuse all taps until resume."`
		Resume  call[campaignArg, campaign] `cmd:"" call:"POST campaigns/{campaign}/resume" help:"Undo pause."`
		Close   call[campaignArg, campaign] `cmd:"" call:"POST campaigns/{campaign}/close" help:"End a campaign for good. What is left goes back to the sponsor."`
		Export  campaignExportCmd           `cmd:"" help:"Write all that the ledger has of a campaign that is over to a file, and prove the file."`
		Verify  campaignVerifyCmd           `cmd:"" help:"Prove a file of campaign export, without a server. Exit 0 where every cent and every hash fits, 1 where not."`
	} `cmd:"" help:"Create and steer campaigns."`
	Sponsor struct {
		Deposit call[newDeposit, sponsor] `cmd:"" call:"POST sponsors/{sponsor}/deposits" help:"Add money to a sponsor's account, once for each reference."`
		Show    call[oneSponsor, sponsor] `cmd:"" call:"GET sponsors/{sponsor}" help:"Show a sponsor's balance."`
		List    list[none, sponsor]       `cmd:"" call:"GET sponsors" help:"List the sponsors with their balances."`
	} `cmd:"" help:"Take in the money that campaigns give away."`
	Rain struct {
		Start rainStartCmd `cmd:"" help:"Let a rain fall."`
		Stop  rainStopCmd  `cmd:"" help:"End a rain now."`
	} `cmd:"" help:"Start and stop rains."`
	Payout struct {
		List    list[none, deadLetter]           `cmd:"" call:"GET payouts" query:"state=dead" help:"List the payouts that need a person."`
		Retry   payoutRetryCmd                   `cmd:"" help:"Try a dead payout again, or all of them."`
		Dismiss call[payoutDismissal, dismissed] `cmd:"" call:"POST payouts/{claim}/dismiss" help:"End a dead payout that is nobody's."`
	} `cmd:"" help:"List, retry and dismiss dead payouts."`
	Withdrawal struct {
		Show    call[oneWithdrawal, withdrawal]       `cmd:"" call:"GET withdrawals/{withdrawal}" help:"Show a withdrawal, the order that waits for a second person, and its history."`
		Hold    call[withdrawalOrder, withdrawalHead] `cmd:"" call:"POST withdrawals/{withdrawal}/hold" help:"Stop a withdrawal before anybody is asked to pay it."`
		Release call[withdrawalOrder, withdrawalHead] `cmd:"" call:"POST withdrawals/{withdrawal}/release" help:"Let a withdrawal that is held be paid."`
		Paid    call[withdrawalPaid, withdrawalHead]  `cmd:"" call:"POST withdrawals/{withdrawal}/paid" help:"Mark a dead withdrawal as paid, as the provider's books say. Takes two people, up to --second-person-above one."`
		Back    call[withdrawalOrder, withdrawalHead] `cmd:"" call:"POST withdrawals/{withdrawal}/back" help:"Give the money of a dead or held withdrawal back to its player. Takes two people, up to --second-person-above one."`
	} `cmd:"" help:"Hold, release and end withdrawals."`
	User struct {
		Show       call[oneUser, player]   `cmd:"" call:"GET users/{user}" help:"Show a player's balance, whether they are banned, and what was done about them."`
		Disconnect call[userOrder, player] `cmd:"" call:"POST users/{user}/disconnect" help:"End a player's connections, on all servers. They may come back."`
		Ban        call[userOrder, player] `cmd:"" call:"POST users/{user}/ban" help:"End a player's connections, and let them neither come back, win nor withdraw."`
		Unban      call[userOrder, player] `cmd:"" call:"POST users/{user}/unban" help:"Lift a ban."`
	} `cmd:"" help:"Look at players, send them away and ban them."`
	List struct {
		Create  call[newList, playerList] `cmd:"" call:"POST lists" help:"Make an empty list."`
		Show    listShowCmd               `cmd:"" help:"Show a list, or all of them."`
		Members list[listMembers, member] `cmd:"" call:"GET lists/{list}/members" help:"Show who is on a list."`
		Import  listImportCmd             `cmd:"" help:"Put everybody in a CSV on a list. Where one line makes no sense nothing is changed."`
		Add     listChangeCmd             `cmd:"" call:"POST lists/{list}/members" help:"Put some on a list."`
		Remove  listChangeCmd             `cmd:"" call:"POST lists/{list}/remove" help:"Take some off a list. They win nothing from then on where they had to be on it."`
		Delete  listDeleteCmd             `cmd:"" help:"Delete a list that no campaign needs any more."`
	} `cmd:"" help:"Say who may take part: lists of players for campaigns, and of players and addresses who may not."`
	Risk struct {
		List    list[none, heldWin] `cmd:"" call:"GET risk/held" query:"state=held" help:"List the wins that are kept apart, with what speaks against their players."`
		Release riskOrderCmd        `cmd:"" help:"Give wins that are kept apart to their players, who may then play on."`
		Confirm riskOrderCmd        `cmd:"" help:"Give wins that are kept apart back to their sponsors."`
	} `cmd:"" help:"Decide about the wins of bots and farms."`
	Approval struct {
		List    approvalListCmd                      `cmd:"" help:"List the orders that wait for a second person."`
		Confirm call[approvalConfirmation, approval] `cmd:"" call:"POST approvals/{order}/confirm" help:"Have an order carried out that another person has asked for."`
		Reject  call[approvalRejection, approval]    `cmd:"" call:"POST approvals/{order}/reject" help:"End an order without its being carried out."`
	} `cmd:"" help:"Be the second person."`
	Watch     watchCmd     `cmd:"" help:"Show a campaign's live figures, once a second, until it is over."`
	Reconcile reconcileCmd `cmd:"" help:"Account for every cent, of a campaign or of everything. Exit 0 where the books balance, 1 where not."`
	Bench     benchCmd     `cmd:"" help:"Play simulated players against running servers, and report. Exit 0 where all went well and every win told is in the ledger, 1 where not."`
	Rebuild   rebuildCmd   `cmd:"" help:"Restore in Redis what it has lost of a campaign, from the ledger and the stream."`
	Seal      struct {
		Rotate call[none, sealKey] `cmd:"" call:"POST seal/rotate" help:"Make a new key for the seals of wins. The one before stays good."`
	} `cmd:"" help:"Change the key that wins are sealed with."`
	Audit struct {
		Verify auditVerifyCmd `cmd:"" help:"Compare the ledger's rows with their hashes, and these with the daily roots. Exit 0 if all agree, 1 if a row was changed, removed or added."`
		Roots  auditRootsCmd  `cmd:"" help:"Print the daily roots, a line of JSON for each day, to be kept elsewhere."`
	} `cmd:"" help:"Prove that nobody has rewritten the ledger."`
	Statement struct {
		Match statementMatchCmd `cmd:"" help:"Compare a provider's statement with withdrawals, or a bank's with deposits. Exit 0 where all is the same, 1 where something differs."`
	} `cmd:"" help:"Hold what others say of the money against the ledger."`
	Restored restoredCmd `cmd:"" help:"Say that the ledger's database was put back from a backup, and enter what was paid since."`
	Verify   verifyCmd   `cmd:"" help:"Recompute finished rains from their revealed seeds. Exit 0 where they fell as announced, 1 where not."`
	Migrate  struct {
		Up     migrateCmd       `cmd:"" default:"withargs" hidden:"" help:"Bring the database of --mysql to this version."`
		Status migrateStatusCmd `cmd:"" help:"List the migrations, done and pending."`
	} `cmd:"" help:"Bring the database of --mysql to this version, as a step of its own. Every server does so at its start, if its user may."`
	Settings struct {
		Check  configCheckCmd  `cmd:"" help:"Check the settings of serve and the files that they name. Exit 2 with a line for each fault."`
		Print  configPrintCmd  `cmd:"" help:"Print every effective setting of serve and its source. Secrets are masked."`
		Sample configSampleCmd `cmd:"" help:"Print a file for --config with every setting."`
	} `cmd:"" name:"config" help:"Check and print settings."`
	Doctor   doctorCmd `cmd:"" help:"Check every back end, address and limit of the settings of serve. Exit 1 if something would lose wins or players."`
	Operator struct {
		Token operatorTokenCmd `cmd:"" help:"Make an operator's token, and the line about it for the server's --operators-file."`
	} `cmd:"" help:"Give operators tokens with their names."`
	Token      tokenCmd      `cmd:"" help:"Mint a player's token."`
	Completion completionCmd `cmd:"" help:"Print what a shell needs to complete redrain's commands and flags."`
	Version    versionCmd    `cmd:"" help:"Show the version, as --version does."`
}

const description = "Red packet rain (红包雨): packets fall on every player's screen at once, " +
	"and a fixed budget of real money is handed out exactly. Every flag has an environment variable, " +
	"REDRAIN_ and its name in capitals, and a key in the file of --config; flag over environment over file."

// fillIn replaces ${…} in the grammar's tags. kong has variables for that, but interpolates all of them again for every
// flag, which took most of the time of a command line. Only its own, as ${default}, are left to it.
func fillIn(k *kong.Kong) error {
	var pairs []string
	for name, value := range defaults() {
		pairs = append(pairs, "${"+name+"}", value)
	}
	values := strings.NewReplacer(pairs...)
	return kong.Visit(k.Model, func(of kong.Visitable, next kong.Next) error {
		switch of := of.(type) {
		case *kong.Flag:
			of.PlaceHolder = values.Replace(of.PlaceHolder)
		case *kong.Value:
			for _, text := range []*string{&of.Help, &of.Default, &of.Enum} {
				*text = values.Replace(*text)
			}
		}
		return next(nil)
	})
}

// defaults are the values of ${…} in the grammar's tags: the defaults of requests by their names in JSON. A duration in
// milliseconds is also there as text, such as 10s, under its name without the unit.
func defaults() map[string]string {
	vars := map[string]string{
		"splits":    strings.Trim(strings.ReplaceAll(fmt.Sprint(rain.SplitKinds()), " ", ", "), "[]"),
		"starts_in": millis(rain.DefaultStartsInMS).String(),
		"amount":    amountForms,
	}
	for _, request := range []any{rain.DefaultRain(), rain.DefaultSpec()} {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(wire.Encode(request), &fields); err != nil {
			panic(err)
		}
		for name, value := range fields {
			vars[name] = strings.Trim(string(value), `"`)
			if ms, err := strconv.ParseInt(vars[name], 10, 64); err == nil && strings.HasSuffix(name, "_ms") {
				vars[strings.TrimSuffix(name, "_ms")] = millis(ms).String()
			}
		}
	}
	return vars
}
