package cli

import (
	"maps"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"redrain/rain"
)

// grammar is the command line: each field is a command, each field of a command a flag or an argument.
type grammar struct {
	Config string `help:"Read settings from a YAML file. Its keys are the flags' names." placeholder:"FILE"`

	Serve    serveCmd `cmd:"" default:"withargs" help:"Run the server. This is what redrain does without a command."`
	Campaign struct {
		Create  campaignCreateCmd  `cmd:"" help:"Fund a campaign from its sponsor and stock its packets."`
		Preview campaignPreviewCmd `cmd:"" help:"Cut a budget for a look: what packets a campaign would have. Nothing is kept."`
		List    campaignListCmd    `cmd:"" help:"List the campaigns."`
		Show    campaignShowCmd    `cmd:"" help:"Show a campaign and its rains."`
		Pause   campaignOrderCmd   `cmd:"" help:"Refuse all taps until resume."`
		Resume  campaignOrderCmd   `cmd:"" help:"Undo pause."`
		Close   campaignOrderCmd   `cmd:"" help:"End a campaign for good. What is left goes back to the sponsor."`
		Export  campaignExportCmd  `cmd:"" help:"Write all that the ledger has of a campaign that is over to a file, and prove the file."`
		Verify  campaignVerifyCmd  `cmd:"" help:"Prove a file of campaign export, without a server. Exit 0 where every cent and every hash fits, 1 where not."`
	} `cmd:"" help:"Create and steer campaigns."`
	Sponsor struct {
		Deposit sponsorDepositCmd `cmd:"" help:"Add money to a sponsor's account, once for each reference."`
		Show    sponsorShowCmd    `cmd:"" help:"Show a sponsor's balance."`
		List    sponsorListCmd    `cmd:"" help:"List the sponsors with their balances."`
	} `cmd:"" help:"Take in the money that campaigns give away."`
	Rain struct {
		Start rainStartCmd `cmd:"" help:"Let a rain fall."`
		Stop  rainStopCmd  `cmd:"" help:"End a rain now."`
	} `cmd:"" help:"Start and stop rains."`
	Payout struct {
		List    payoutListCmd    `cmd:"" help:"List the payouts that need a person."`
		Retry   payoutRetryCmd   `cmd:"" help:"Try a dead payout again, or all of them."`
		Dismiss payoutDismissCmd `cmd:"" help:"End a dead payout that is nobody's."`
	} `cmd:"" help:"List, retry and dismiss dead payouts."`
	Withdrawal struct {
		Show    withdrawalShowCmd  `cmd:"" help:"Show a withdrawal, the order that waits for a second person, and its history."`
		Hold    withdrawalOrderCmd `cmd:"" help:"Stop a withdrawal before anybody is asked to pay it."`
		Release withdrawalOrderCmd `cmd:"" help:"Let a withdrawal that is held be paid."`
		Paid    withdrawalPaidCmd  `cmd:"" help:"Mark a dead withdrawal as paid, as the provider's books say. Takes two people, up to --second-person-above one."`
		Back    withdrawalOrderCmd `cmd:"" help:"Give the money of a dead or held withdrawal back to its player. Takes two people, up to --second-person-above one."`
	} `cmd:"" help:"Hold, release and end withdrawals."`
	User struct {
		Show       userShowCmd  `cmd:"" help:"Show a player's balance, whether they are banned, and what was done about them."`
		Disconnect userOrderCmd `cmd:"" help:"End a player's connections, on all servers. They may come back."`
		Ban        userOrderCmd `cmd:"" help:"End a player's connections, and let them neither come back, win nor withdraw."`
		Unban      userOrderCmd `cmd:"" help:"Lift a ban."`
	} `cmd:"" help:"Look at players, send them away and ban them."`
	List struct {
		Create  listCreateCmd  `cmd:"" help:"Make an empty list."`
		Show    listShowCmd    `cmd:"" help:"Show a list, or all of them."`
		Members listMembersCmd `cmd:"" help:"Show who is on a list."`
		Import  listImportCmd  `cmd:"" help:"Put everybody in a CSV on a list. Where one line makes no sense nothing is changed."`
		Add     listChangeCmd  `cmd:"" help:"Put some on a list."`
		Remove  listChangeCmd  `cmd:"" help:"Take some off a list. They win nothing from then on where they had to be on it."`
		Delete  listDeleteCmd  `cmd:"" help:"Delete a list that no campaign needs any more."`
	} `cmd:"" help:"Say who may take part: lists of players for campaigns, and of players and addresses who may not."`
	Risk struct {
		List    riskListCmd  `cmd:"" help:"List the wins that are kept apart, with what speaks against their players."`
		Release riskOrderCmd `cmd:"" help:"Give wins that are kept apart to their players, who may then play on."`
		Confirm riskOrderCmd `cmd:"" help:"Give wins that are kept apart back to their sponsors."`
	} `cmd:"" help:"Decide about the wins of bots and farms."`
	Approval struct {
		List    approvalListCmd    `cmd:"" help:"List the orders that wait for a second person."`
		Confirm approvalConfirmCmd `cmd:"" help:"Have an order carried out that another person has asked for."`
		Reject  approvalRejectCmd  `cmd:"" help:"End an order without its being carried out."`
	} `cmd:"" help:"Be the second person."`
	Watch     watchCmd     `cmd:"" help:"Show a campaign's live figures, once a second, until it is over."`
	Reconcile reconcileCmd `cmd:"" help:"Account for every cent, of a campaign or of everything. Exit 0 where the books balance, 1 where not."`
	Bench     benchCmd     `cmd:"" help:"Play simulated players against running servers, and report. Exit 0 where all went well and every win told is in the ledger, 1 where not."`
	Rebuild   rebuildCmd   `cmd:"" help:"Restore in Redis what it has lost of a campaign, from the ledger and the stream."`
	Seal      struct {
		Rotate sealRotateCmd `cmd:"" help:"Make a new key for the seals of wins. The one before stays good."`
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
	Migrate  migrateCmd  `cmd:"" help:"Bring the database of --mysql to this version, as a step of its own. Every server does so at its start, if its user may."`
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

// fillIn puts the values of ${…} into the grammar's tags. kong has variables for that, but goes through all of them
// again for every flag, which took most of the time of a command line: it is left those of its own, as ${default}.
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

// defaults are the values of ${…} in the grammar's tags. They come from the packages that own them, so that each
// default is written once.
func defaults() map[string]string {
	vars := map[string]string{}
	maps.Copy(vars, rainDefaults(rain.DefaultRain()))
	maps.Copy(vars, campaignDefaults(rain.DefaultSpec()))
	return vars
}

func rainDefaults(r rain.RainSpec) map[string]string {
	return map[string]string{
		"duration": millis(r.DurationMS).String(), "drops_per_second": strconv.Itoa(r.DropsPerSecond),
		"fall": millis(r.FallMS).String(), "decoy_percent": strconv.Itoa(r.DecoyPercent), "pacing": string(r.Pacing),
		"odds": r.Odds.String(), "beat_ms": strconv.FormatInt(r.BeatMS, 10),
		"starts_in": millis(rain.DefaultStartsInMS).String(),
	}
}

func campaignDefaults(s rain.Spec) map[string]string {
	kinds := rain.SplitKinds()
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return map[string]string{
		"splits": strings.Join(names, ", "),
		"split":  string(s.Split), "min": strconv.FormatInt(int64(s.Min), 10), "shards": strconv.Itoa(s.Shards),
		"wins_per_user": strconv.Itoa(s.WinsPerUser), "expires_in": millis(s.ExpiresInMS).String(),
	}
}
