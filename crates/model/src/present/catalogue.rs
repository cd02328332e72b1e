//! The catalogue: everything that Throughline says, in every language that it speaks, side by side.
//!
//! An entry becomes a method of [`Locale`]. The compiler refuses an entry that lacks a language or names a value that
//! it is not given; the test below refuses one that leaves a value out in one of the languages. A new language is a
//! variant of [`Locale`] and a line in each entry.

use std::fmt::Display;

use super::locale::Locale;

/// `name(values) { en: "…", zh: "…" }` for what is said in one way, `name(n) { en: one or many, … }` for what is counted.
macro_rules! catalogue {
    (
        say { $($key:ident ( $($value:ident),* ) { en: $en:tt, zh: $zh:tt })* }
        count { $($counted:ident ( $n:ident ) { en: $one:tt or $many:tt, zh: $any:tt })* }
    ) => {
        impl Locale {
            $(
                #[doc = concat!("```text\n", $en, "\n```")]
                #[must_use]
                pub fn $key(self, $($value: impl Display),*) -> String {
                    match self {
                        Locale::En => format!($en),
                        Locale::Zh => format!($zh),
                    }
                }
            )*
            $(
                #[doc = concat!("“", $many, "”")]
                #[must_use]
                pub fn $counted(self, $n: u64) -> String {
                    match (self, $n) {
                        (Locale::En, 1) => format!($one),
                        (Locale::En, _) => format!($many),
                        (Locale::Zh, _) => format!($any),
                    }
                }
            )*
        }

        /// Each entry's name, its values, and its texts.
        #[cfg(test)]
        const ENTRIES: &[(&str, &[&str], &[&str])] = &[
            $((stringify!($key), &[$(stringify!($value)),*], &[$en, $zh]),)*
            $((stringify!($counted), &[stringify!($n)], &[$one, $many, $any]),)*
        ];
    };
}

catalogue! {
    say {
        // The glance.
        asks_approval(agent, what) { en: "{agent} is waiting for approval: `{what}`", zh: "{agent} 等待批准：`{what}`" }
        waits_for_approval(agent) { en: "{agent} is waiting for approval", zh: "{agent} 等待批准" }
        asks(agent) { en: "{agent} asks something", zh: "{agent} 有问题要问" }
        asks_this(agent, question) { en: "{agent} asks: {question}", zh: "{agent} 提问：{question}" }
        is_blocked(agent, reason) { en: "{agent} is blocked: {reason}", zh: "{agent} 受阻：{reason}" }
        is_blocked_until(agent, until, reason) {
            en: "{agent} is blocked until {until}: {reason}",
            zh: "{agent} 受阻，直至 {until}：{reason}"
        }
        asks_for_nothing(mode, line) { en: "asks for nothing (mode {mode}): {line}", zh: "不再询问（{mode} 模式）：{line}" }
        has_failed(agent, reason) { en: "{agent} failed: {reason}", zh: "{agent} 失败：{reason}" }
        works(agent) { en: "{agent} is working", zh: "{agent} 正在工作" }
        works_on_plan(agent, done, total) {
            en: "{agent} is working, {done} of {total} steps done",
            zh: "{agent} 正在工作，已完成 {done}/{total} 步"
        }
        is_silent(agent, minutes) {
            en: "{agent} has not been heard of for {minutes} min",
            zh: "{agent} 已有 {minutes} 分钟没有动静"
        }
        waits_for(agent, reason) { en: "{agent} waits for {reason}", zh: "{agent} 正在排队等待：{reason}" }
        rests(agent) { en: "{agent} rests", zh: "{agent} 空闲" }
        rests_after(agent, said) { en: "{agent} rests: {said}", zh: "{agent} 空闲：{said}" }
        closed() { en: "closed", zh: "已关闭" }
        closed_after(said) { en: "closed: {said}", zh: "已关闭：{said}" }

        // States.
        state_waiting_approval() { en: "waiting for approval", zh: "等待批准" }
        state_waiting_answer() { en: "waiting for an answer", zh: "等待回答" }
        state_blocked() { en: "blocked", zh: "受阻" }
        state_failed() { en: "failed", zh: "失败" }
        state_working() { en: "working", zh: "进行中" }
        state_queued() { en: "queued", zh: "排队中" }
        state_resting() { en: "resting", zh: "空闲" }
        both(life, doing) { en: "{life}, {doing}", zh: "{life}，{doing}" }
        because(what, reason) { en: "{what}: {reason}", zh: "{what}：{reason}" }
        since(what, ago) { en: "{what} ({ago})", zh: "{what}（{ago}）" }
        comma() { en: ", ", zh: "，" }

        // Moments and spans.
        just_now() { en: "just now", zh: "刚刚" }
        minutes_ago(n) { en: "{n} min ago", zh: "{n} 分钟前" }
        hours_ago(n) { en: "{n} h ago", zh: "{n} 小时前" }
        days_ago(n) { en: "{n} d ago", zh: "{n} 天前" }
        span_millis(n) { en: "{n} ms", zh: "{n} 毫秒" }
        span_seconds(n) { en: "{n} s", zh: "{n} 秒" }
        span_minutes(minutes, seconds) { en: "{minutes} min {seconds} s", zh: "{minutes} 分 {seconds} 秒" }

        // A terminal: requests, and what became of an order.
        wants_approval() { en: "needs approval", zh: "需要批准" }
        asks_to() { en: "asks", zh: "请求" }
        only_described() {
            en: "that is the agent's description: it did not send what it would do",
            zh: "这是智能体的描述：它没有发来具体要做什么"
        }
        too_long_here(command) {
            en: "… and more: too long to be approved here; {command}",
            zh: "……还有更多：太长，不能在这里批准；{command}"
        }
        in_folder(root) { en: "in {root}", zh: "位于 {root}" }
        how_to_approve(command) { en: "approve: {command}", zh: "批准：{command}" }
        how_to_deny(command) { en: "deny:    {command}", zh: "拒绝：{command}" }
        how_to_answer(command) { en: "answer: {command}", zh: "回答：{command}" }
        yes_no_or_skip() {
            en: "[y]es, [n]o, or [s]kip (decide later)? ",
            zh: "[y] 批准、[n] 拒绝，或 [s] 跳过（稍后决定）？ "
        }
        watching_on() { en: "watching on: Ctrl-C only ends the watching", zh: "继续查看：Ctrl-C 只结束查看" }
        nothing_to_decide() { en: "there is nothing left to decide here", zh: "这里没有要决定的了" }
        decided_elsewhere(word) { en: "{word} elsewhere", zh: "{word}（在别处）" }
        by_you(what) { en: "{what} by you", zh: "{what}，由你决定" }
        by_another(what) { en: "{what} by somebody else", zh: "{what}，由他人决定" }
        from_surface(what, surface) { en: "{what}, from {surface}", zh: "{what}，来自 {surface}" }
        approval_pending() { en: "pending", zh: "待决定" }
        approval_ruled() { en: "ruled", zh: "按规则" }
        approval_settled() { en: "settled", zh: "已处理" }
        no_need_to_ask(rule, command) {
            en: "{rule}: no need to ask again; take it back with: {command}",
            zh: "{rule}：以后不再询问；收回：{command}"
        }
        approved_once(why) { en: "approved this once: {why}", zh: "仅批准这一次：{why}" }
        watch_with(command) { en: "watch it with: {command}", zh: "查看进展：{command}" }
        message_taken_back() { en: "the message was taken back", zh: "消息已收回" }
        message_moved() { en: "the message was moved to another task", zh: "消息已移到另一个任务" }
        budget_goes_on() { en: "the budget is extended: the work goes on", zh: "预算已延长：工作继续" }
        work_goes_on(command) { en: "the work goes on: {command}", zh: "工作继续进行：{command}" }
        told_to_stop() { en: "is told to stop", zh: "已要求停止" }
        starts_over() { en: "starts over with its next message", zh: "下一条消息将重新开始" }
        goes_on_with(what) { en: "goes on with {what}", zh: "改由 {what} 继续" }
        runs_again() { en: "runs again", zh: "重新运行" }
        told_no_answer() { en: "is told that there is no answer", zh: "已告知没有回答" }
        has_its_answer() { en: "has its answer", zh: "已得到回答" }
        noted() { en: "noted", zh: "已记下" }

        // The card.
        label_state() { en: "state", zh: "状态" }
        label_request() { en: "request", zh: "请求" }
        label_agent() { en: "agent", zh: "智能体" }
        label_said() { en: "said", zh: "最后说" }
        label_plan() { en: "plan", zh: "计划" }
        label_changed() { en: "changed", zh: "改动" }
        label_note() { en: "note", zh: "备注" }
        label_queued() { en: "queued", zh: "排队" }
        label_place() { en: "project", zh: "项目" }
        label_result() { en: "result", zh: "结果" }
        place(project, root) { en: "{project} in {root}", zh: "{project}（{root}）" }
        agent_as(agent, role) { en: "{agent} as {role}", zh: "{agent}（{role}）" }
        session(phase) { en: "session {phase}", zh: "会话{phase}" }
        session_with_model(phase, model) { en: "session {phase} ({model})", zh: "会话{phase}（{model}）" }
        turn_awaits_workspace() { en: "turn waits for the workspace", zh: "本轮等待工作区" }
        turn_awaits_session() { en: "turn waits for the agent to start", zh: "本轮等待智能体启动" }
        turn_runs() { en: "turn running", zh: "本轮进行中" }
        turn_silent(minutes) { en: "not heard of for {minutes} min", zh: "已有 {minutes} 分钟没有动静" }
        last_turn(outcome) { en: "last turn {outcome}", zh: "上一轮{outcome}" }
        plan_progress(done, total, version) {
            en: "{done} of {total} done (version {version})",
            zh: "已完成 {done}/{total}（第 {version} 版）"
        }
        more(n) { en: "… and {n} more", zh: "……还有 {n} 项" }
        file_added() { en: "added", zh: "新增" }
        file_modified() { en: "modified", zh: "修改" }
        file_deleted() { en: "deleted", zh: "删除" }
        file_renamed() { en: "renamed", zh: "重命名" }
        role_editor() { en: "editor", zh: "编辑" }
        role_reviewer() { en: "reviewer", zh: "审查" }
        role_tester() { en: "tester", zh: "测试" }
        role_researcher() { en: "researcher", zh: "调研" }
        read_only_enforced() { en: "read-only (enforced)", zh: "只读（强制）" }
        read_only_not_enforced() { en: "read-only (not enforced)", zh: "只读（未强制）" }
        end_replaced() { en: "replaced", zh: "已被替换" }
        end_superseded() { en: "superseded", zh: "已被取代" }
        end_dismissed() { en: "dismissed", zh: "已撤下" }
        phase_starting() { en: "starting", zh: "启动中" }
        phase_live() { en: "live", zh: "在线" }
        phase_parked() { en: "parked", zh: "已停放" }
        phase_lost() { en: "lost", zh: "已丢失" }
        turn_completed() { en: "completed", zh: "已完成" }
        turn_failed() { en: "failed", zh: "失败" }
        turn_cancelled() { en: "cancelled", zh: "已取消" }
        turn_interrupted() { en: "interrupted", zh: "被中断" }
        turn_unknown() { en: "unknown", zh: "结果未知" }
        button_approve() { en: "Approve once", zh: "批准一次" }
        button_deny() { en: "Deny", zh: "拒绝" }
        button_answer() { en: "Answer", zh: "回答" }
        button_retry() { en: "Try again", zh: "重试" }
        button_stop() { en: "Stop", zh: "停止" }
        button_close() { en: "Close", zh: "关闭" }
        button_reopen() { en: "Reopen", zh: "重新打开" }
        button_open() { en: "Open", zh: "打开" }
        button_new_task() { en: "A new task", zh: "新任务" }
        button_meant(key) { en: "I meant {key}", zh: "我指的是 {key}" }

        // Announcements.
        task_named(title, key) { en: "*{title}* ({key})", zh: "*{title}*（{key}）" }
        decided_new(key, title, agent) {
            en: "→ new task {key} *{title}* with {agent}",
            zh: "→ 新任务 {key} *{title}*，由 {agent} 执行"
        }
        decided_continue(task, agent) { en: "→ continues {task} with {agent}", zh: "→ 继续 {task}，由 {agent} 执行" }
        decided_answer(task, agent) { en: "→ answers {agent} on {task}", zh: "→ 回答 {agent}：{task}" }
        decided_add(agent, role, task) {
            en: "→ adds {agent} as {role} to {task}",
            zh: "→ 让 {agent} 以{role}身份加入 {task}"
        }
        decided_switch(task, to) { en: "→ {task} goes on with {to}", zh: "→ {task} 改由 {to} 继续" }
        decided_fresh(task) {
            en: "→ {task} starts over in a new session with its next message",
            zh: "→ {task} 的下一条消息将在新会话中开始"
        }
        decided_retry(task, agent) { en: "→ {agent} tries {task} again", zh: "→ {agent} 重试 {task}" }
        decided_fork(task) { en: "→ tries another way beside {task}", zh: "→ 在 {task} 之外另试一条路" }
        decided_approve(task) { en: "→ approved once: {task}", zh: "→ 已批准一次：{task}" }
        decided_deny(task) { en: "→ denied: {task}", zh: "→ 已拒绝：{task}" }
        decided_cancel(task) { en: "→ stops {task}", zh: "→ 停止 {task}" }
        decided_close(task) { en: "→ closes {task}", zh: "→ 关闭 {task}" }
        decided_status(task) { en: "→ how {task} stands, from the record", zh: "→ {task} 的现状（据记录）" }
        decided_status_of_all() { en: "→ how everything stands, from the record", zh: "→ 全部现状（据记录）" }
        decided_cancel_all() { en: "→ stops everything", zh: "→ 全部停止" }
        decided_clarify() { en: "→ asks back", zh: "→ 需要问清楚" }
        decided_ack() { en: "→ nothing to do", zh: "→ 无需处理" }
        decided_help() { en: "→ how to use this", zh: "→ 使用说明" }
        undo_new_task(how) { en: "not a new task? {how}", zh: "不是新任务？{how}" }
        queued_first(agent) {
            en: "queued: {agent} is busy with another turn, this comes next",
            zh: "排队中：{agent} 正忙于另一轮，接下来就是这一条"
        }
        decided_fork_as(key, title, source) {
            en: "→ {key} *{title}* tries another way beside {source}",
            zh: "→ {key} *{title}*：在 {source} 之外另试一条路"
        }
        queued_for(behind) { en: "queued: waits for {behind}", zh: "排队中：等待 {behind}" }
        joined(agent, role) { en: "{agent} joined as {role}", zh: "{agent} 已以{role}身份加入" }
        dismissed(agent, role) { en: "{agent} is dismissed as {role}", zh: "{agent} 已不再担任{role}" }
        leaves(agent, role) {
            en: "{agent} is told to stop, and is dismissed as {role} then",
            zh: "已要求 {agent} 停止，随后不再担任{role}"
        }
        queued_behind(agent, n) {
            en: "queued: {agent} is busy, {n} more wait before this",
            zh: "排队中：{agent} 正忙，前面还有 {n} 条"
        }
        open_again() { en: "It is open again.", zh: "任务已重新打开。" }
        decided_focus(task) { en: "→ now about {task}", zh: "→ 现在谈 {task}" }
        moved(task, agent) { en: "→ moved to {task} with {agent}", zh: "→ 已移到 {task}，由 {agent} 执行" }

        // Answers.
        which() { en: "Which one do you mean?", zh: "你指的是哪一个？" }
        which_or_new() { en: "What is this about?", zh: "这是关于什么的？" }
        ack() { en: "You are welcome.", zh: "不客气。" }
        help() {
            en: "Say what you want done, in your own words; a follow-up goes on where the last turn ended.\n“new task: …” starts another one, “use NAME to review it” adds an agent, “what is going on?” tells how things stand.\n“yes” or “no” decides a request if only one waits, “stop” stops what runs, “no, I meant KEY” moves a message.",
            zh: "用你自己的话说要做什么；后续消息会接着上一轮继续。\n“新任务：……”另起一个任务，“让 NAME 也审查一下”加入另一个智能体，“进展如何？”告诉你现状。\n只有一个请求在等待时，“同意”或“拒绝”即可决定；“停”会停止正在运行的；“不，我说的是 KEY”会移动消息。"
        }
        approved(what) { en: "Approved once: `{what}`", zh: "已批准一次：`{what}`" }
        always_offer(rule) {
            en: "From now on it can go without asking: `{rule}`",
            zh: "今后可以不再询问：`{rule}`"
        }
        always_not(why) { en: "It is asked each time: {why}", zh: "每次仍会询问：{why}" }
        button_always(rule) { en: "Always allow {rule}", zh: "始终允许 {rule}" }
        denied(what) { en: "Denied: `{what}`", zh: "已拒绝：`{what}`" }
        expired(what) { en: "Nobody decided in time, so it was denied: `{what}`", zh: "无人及时决定，已按拒绝处理：`{what}`" }
        void(what, cause) {
            en: "There is nothing left to decide about `{what}`: {cause}",
            zh: "`{what}` 已无需决定：{cause}"
        }
        nothing_to_cancel() { en: "Nothing runs that could be stopped.", zh: "没有正在运行的内容可以停止。" }
        nothing_to_retry() { en: "There is no turn to try again.", zh: "没有可以重试的一轮。" }
        already_decided() { en: "That request was decided already.", zh: "该请求已有决定。" }
        turn_in_the_way() { en: "A turn is running: stop it first.", zh: "有一轮正在运行：请先停止它。" }
        input_gone() { en: "That message is no longer waiting.", zh: "那条消息已不在等待中。" }
        queue_full(n) { en: "Too much waits already: {n} messages.", zh: "排队的消息已经太多：{n} 条。" }
        nothing_said() { en: "Nothing was said.", zh: "消息是空的。" }
        not_allowed() { en: "You are not a member of that project.", zh: "你不是该项目的成员。" }

        // Status.
        nothing_open() { en: "Nothing is open.", zh: "没有打开的任务。" }
        nothing_needs_you() { en: "Nothing needs you.", zh: "没有需要你处理的。" }
        last_turn_was(outcome, ago) { en: "Last turn: {outcome}, {ago}", zh: "上一轮：{outcome}，{ago}" }
        plan_at(done, total, step) {
            en: "Plan: {done} of {total} done, next: {step}",
            zh: "计划：已完成 {done}/{total}，下一步：{step}"
        }
        queued_next(said) { en: "Queued next: {said}", zh: "接下来排队：{said}" }
        plan_done(total) { en: "Plan: all {total} done", zh: "计划：{total} 步全部完成" }
        changed(files, names) { en: "Changed {files}: {names}", zh: "改动了 {files}：{names}" }
        changed_and_more(files, names) { en: "Changed {files}: {names}, …", zh: "改动了 {files}：{names}，……" }
        last_words(said) { en: "Last words: {said}", zh: "最后说：{said}" }
        needs_you() { en: "Needs you", zh: "需要你" }
        running() { en: "Running", zh: "进行中" }
        resting() { en: "Resting", zh: "空闲" }

        // The timeline.
        you() { en: "you", zh: "你" }
        agent_asks(agent) { en: "{agent} asks", zh: "{agent} 提问" }
        made_in(title, root) { en: "{title} in {root}", zh: "{title}（{root}）" }
        now_called(title) { en: "is now called {title}", zh: "现在叫作 {title}" }
        reopened() { en: "reopened", zh: "已重新打开" }
        archived() { en: "archived", zh: "已归档" }
        note_pinned(text) { en: "note: {text}", zh: "备注：{text}" }
        moved_out() { en: "the message was meant for another task, and went there", zh: "消息本属于另一个任务，已移过去" }
        moved_in() { en: "a message was meant for this task, and came here", zh: "有一条消息属于本任务，已移过来" }
        taken_back() { en: "the message was taken back", zh: "消息已撤回" }
        thinks(text) { en: "thinks: {text}", zh: "思考：{text}" }
        decided_so(intent, why) { en: "→ {intent}: {why}", zh: "→ {intent}：{why}" }
        needs_approval(what) { en: "needs approval: {what}", zh: "需要批准：{what}" }
        settled_approved() { en: "approved", zh: "已批准" }
        settled_denied() { en: "denied", zh: "已拒绝" }
        allowed_by_rule(number, place, day) {
            en: "allowed by rule {number}, created from {place} on {day}",
            zh: "由规则 {number} 允许（{day} 创建于{place}）"
        }
        denied_by_rule(number, place, day) {
            en: "denied by rule {number}, created from {place} on {day}",
            zh: "由规则 {number} 拒绝（{day} 创建于{place}）"
        }
        reads_allowed(place, day) {
            en: "reads are allowed here, as set from {place} on {day}",
            zh: "此处允许读取（{day} 设置于{place}）"
        }
        edits_allowed(place, day) {
            en: "edits are allowed here, as set from {place} on {day}",
            zh: "此处允许编辑（{day} 设置于{place}）"
        }
        from_web() { en: "the web page", zh: "网页" }
        from_cli() { en: "the terminal", zh: "终端" }
        from_ide() { en: "the editor", zh: "编辑器" }
        from_api() { en: "the API", zh: "接口" }
        answered(content) { en: "answered: {content}", zh: "已回答：{content}" }
        not_answered() { en: "not answered: the person did not want to", zh: "未回答：不想回答" }
        question_void(cause) { en: "not answered: {cause}", zh: "未回答：{cause}" }
        amount_turns(count) { en: "{count} turns", zh: "{count} 轮" }
        amount_minutes(count) { en: "{count} minutes", zh: "{count} 分钟" }
        amount_tokens(count) { en: "{count} tokens", zh: "{count} 个 token" }
        amount_cost(count) { en: "a cost of {count}", zh: "费用 {count}" }
        budget_question(amount) {
            en: "The budget of {amount} is used up. Go on with as much again? (yes, or `tl budget`)",
            zh: "{amount} 的预算已用完。要再用同样多继续吗？（回复“好的”，或用 `tl budget`）"
        }
        budget_set() { en: "the budget was set, and counts from now on", zh: "预算已设定，从现在起计算" }
        budget_reached() { en: "the budget is used up: nothing starts until you say so", zh: "预算已用完：等你发话再继续" }
        asks_too_much() {
            en: "asks for more than one turn may ask for: the rest is answered with nothing chosen",
            zh: "请求超出一轮的上限：其余请求一律答复“未选择”"
        }
        settled_expired() { en: "expired", zh: "已过期" }
        settled_void() { en: "void", zh: "已作废" }
        held_behind(behind) { en: "waits for {behind}", zh: "等待 {behind}" }
        to_stop() { en: "is to stop", zh: "要求停止" }
        ended_in(outcome, span) { en: "{outcome} in {span}", zh: "{outcome}，用时 {span}" }
        plan_version(version) { en: "plan, version {version}", zh: "计划，第 {version} 版" }
        file_new(path) { en: "new {path}", zh: "新建 {path}" }
        file_changed(path) { en: "changed {path}", zh: "改动 {path}" }
        session_first() { en: "a new agent session starts: there was none yet", zh: "新会话开始：此前没有会话" }
        session_requested() { en: "a new agent session starts: it was asked for", zh: "新会话开始：应要求重新开始" }
        session_changed() {
            en: "a new agent session starts: the agent or model changed",
            zh: "新会话开始：智能体或模型已更换"
        }
        session_rebuilt() { en: "a new agent session starts: the old one was lost", zh: "新会话开始：旧会话已丢失" }
        session_resumed() { en: "the agent's session is resumed: it was parked", zh: "会话已恢复：此前被停放" }
        session_revived() { en: "the agent's session is resumed: its process had died", zh: "会话已恢复：此前进程已终止" }
        session_reattached() { en: "a new daemon goes on with the running turn", zh: "新的守护进程接着跟进本轮" }
        session_parked(cause) { en: "the agent's session is parked: {cause}", zh: "会话已停放：{cause}" }
        session_lost(cause) { en: "the agent's session is lost: {cause}", zh: "会话已丢失：{cause}" }
        session_closed() { en: "the agent's session is closed", zh: "会话已关闭" }
        stalled(minutes) {
            en: "the agent has not been heard of for {minutes} min; tl cancel stops it",
            zh: "智能体已有 {minutes} 分钟没有动静；tl cancel 可以停止它"
        }
        joins(agent, role) { en: "{agent} joins as {role}", zh: "{agent} 以{role}身份加入" }
        was_dismissed(agent) { en: "{agent} was dismissed", zh: "{agent} 已被撤下" }
        execution_ended(end) { en: "an execution ended: {end}", zh: "一次执行已结束：{end}" }
        replaced() {
            en: "the agent cannot run, so another one takes over",
            zh: "该智能体无法运行，由另一个接手"
        }
        not_asked() { en: "not asked", zh: "未询问" }
        goes_without(what) { en: "the agent's session goes without {what}", zh: "会话缺少：{what}" }
        mode_is(mode) { en: "the agent's mode is now {mode}", zh: "模式现为 {mode}" }
        mode_set_back(modes) {
            en: "the agent's mode is set back ({modes}): it asks for nothing, and nobody allowed that",
            zh: "模式已改回（{modes}）：该模式不再询问，且未获允许"
        }
        model_refused(what) { en: "the agent does not take the model {what}", zh: "不接受模型 {what}" }
        runs_some_unasked(what) { en: "runs some commands unasked: {what}", zh: "部分命令不经询问即运行：{what}" }
        runs_all_unasked(mode) { en: "runs everything unasked: mode {mode}", zh: "一切不经询问即运行：{mode} 模式" }
        mcp_servers(names) { en: "MCP servers: {names}", zh: "MCP 服务器：{names}" }
        until(words, when) { en: "{words} until {when}", zh: "{words}，直至 {when}" }
        model_chosen(model) { en: "the model is to be {model}", zh: "模型改为 {model}" }
        brief_ready(head) { en: "a brief is ready: {head}", zh: "交接说明已备好：{head}" }
        no_checkpoint(why) { en: "no checkpoint: {why}", zh: "没有检查点：{why}" }
        restored_before() {
            en: "the workspace is restored as it was before a turn",
            zh: "工作区恢复到某一轮之前的样子"
        }
        restored_after() { en: "the workspace is restored as it was after a turn", zh: "工作区恢复到某一轮之后的样子" }
        restored_back() {
            en: "the workspace is restored as it was before the last change",
            zh: "工作区恢复到上一次改动之前的样子"
        }
        workspace_changes(what) { en: "the workspace changes: {what}", zh: "工作区改动：{what}" }
        nothing_changes() { en: "nothing changes", zh: "没有改动" }
        did_not_work(why) { en: "it did not work: {why}", zh: "没有成功：{why}" }
        left_as_it_is(path) { en: "left as it is: {path}", zh: "保持原样：{path}" }
        works_apart(root) { en: "it works in a worktree of its own: {root}", zh: "在自己的工作树里工作：{root}" }
        workspace_prepared() { en: "its workspace is prepared", zh: "正在准备它的工作区" }
        workspace_removed() { en: "its workspace is removed; what is in it is kept", zh: "移除它的工作区；其中的内容已保留" }
        changes_come(key) { en: "the changes of {key} come in", zh: "并入 {key} 的改动" }
        changes_go(key) { en: "its changes go to {key}", zh: "它的改动并入 {key}" }
        fork_of_native(key) {
            en: "a fork of {key}: the agent's own session is forked",
            zh: "{key} 的分支：由智能体自己分出会话"
        }
        fork_of(key) { en: "a fork of {key}: a brief tells what was done", zh: "{key} 的分支：由交接说明带上已做的事" }
        fork_made(key) { en: "forked: {key} tries another way", zh: "已分支：{key} 另试一条路" }
        fork_refused(why) {
            en: "the agent cannot fork its session, so a brief tells what was done: {why}",
            zh: "智能体不能分出会话，改由交接说明带上已做的事：{why}"
        }
        session_imported(id) { en: "the agent's session {id} was imported", zh: "已导入会话 {id}" }
        not_all_imported(why) { en: "not all was imported: {why}", zh: "未能全部导入：{why}" }
        before_import() { en: "(before the import)", zh: "（导入之前）" }
        cut_here(bytes) { en: "… cut here: it has {bytes} bytes", zh: "……在此截断：共 {bytes} 字节" }
        same_again() { en: "… and the same again", zh: "……再次相同" }
        intent_continue() { en: "continue", zh: "继续" }
        intent_answer() { en: "answer", zh: "回答" }
        intent_new_task() { en: "new task", zh: "新任务" }
        intent_add_execution() { en: "add execution", zh: "加入执行" }
        intent_switch_agent() { en: "switch agent", zh: "更换智能体" }
        intent_fresh_session() { en: "fresh session", zh: "全新会话" }
        intent_retry() { en: "retry", zh: "重试" }
        intent_fork() { en: "fork", zh: "分支" }
        intent_status() { en: "status", zh: "查询状态" }
        intent_approve() { en: "approve", zh: "批准" }
        intent_deny() { en: "deny", zh: "拒绝" }
        intent_cancel() { en: "cancel", zh: "停止" }
        intent_close() { en: "close", zh: "关闭" }
        intent_focus() { en: "focus", zh: "切换焦点" }
        intent_clarify() { en: "clarify", zh: "确认" }
        intent_ack() { en: "ack", zh: "致意" }
        intent_help() { en: "help", zh: "帮助" }

        // Chats.
        paired(name) {
            en: "Paired: you are {name} here. Say what you want done; /help says what else there is.",
            zh: "配对成功：你在这里是 {name}。说出你想做的事；/help 会告诉你其他用法。"
        }
        commands() {
            en: "\n/new TEXT: a new task\n/tasks: all tasks\n/status [KEY]: how one stands; /more [KEY]: all of it\n/stop [KEY]: stop what runs\n/diff [KEY]: what it changed; /file PATH: a file\n/digest: what happened lately\n/notify, /quiet: what you are told, and when\n/agents: who is here\n//command: goes to the agent as /command",
            zh: "\n/new 文字：新任务\n/tasks：所有任务\n/status [KEY]：进展；/more [KEY]：详情\n/stop [KEY]：停止运行\n/diff [KEY]：改动；/file 路径：取文件\n/digest：最近摘要\n/notify、/quiet：通知与免打扰\n/agents：可用的智能体\n//command：以 /command 原样发给智能体"
        }
        agents_here(list) { en: "Agents here: {list}", zh: "这里的智能体：{list}" }
        may_have_missed(task, key) {
            en: "{task}: there is news, and I cannot know whether my message about it reached you. /more {key} tells how it stands.",
            zh: "{task}：有新消息，但我无法确定之前的通知是否送达。/more {key} 查看现状。"
        }
        no_such_command(name) {
            en: "There is no /{name} here. /help tells what there is; //{name} goes to the agent as /{name}.",
            zh: "这里没有 /{name}。/help 查看有哪些命令；//{name} 会作为 /{name} 交给智能体。"
        }
        edit_not_followed() {
            en: "I do not follow changes to a message: what you sent first counts. Say it again as a new message.",
            zh: "我不跟踪消息的修改，以最初发送的为准。请作为新消息再发一次。"
        }
        kind_not_taken() {
            en: "I cannot take this kind of message: send words, pictures, recordings or files.",
            zh: "这种消息我收不了：请发文字、图片、录音、视频或文件。"
        }
        no_task_here() { en: "There is no task in focus here: name its key.", zh: "这里没有焦点任务：请给出任务编号。" }
        no_such_task(key) { en: "There is no task {key}.", zh: "没有任务 {key}。" }
        new_what() { en: "Say what to do: /new TEXT", zh: "请说要做什么：/new 文字" }
        which_project(list) {
            en: "Which project? /new PROJECT TEXT, with one of: {list}",
            zh: "哪个项目？用 /new 项目 文字，项目是：{list}"
        }
        no_project_yet() {
            en: "There is no project yet: `tl project add PATH` makes a folder one.",
            zh: "还没有项目：用 `tl project add PATH` 添加一个文件夹。"
        }
        file_not_taken(name, why) {
            en: "Your message was not taken: the file {name} cannot be had ({why}). Send it again without it.",
            zh: "你的消息没有收下：无法取得文件 {name}（{why}）。请去掉它再发一次。"
        }
        file_which() { en: "Say which file: /file PATH, as seen from the workspace.", zh: "请说明哪个文件：/file 路径（相对于工作区）。" }
        file_not_there(path) {
            en: "There is no file {path} in the task's workspace. Links and folders are not sent.",
            zh: "任务的工作区里没有文件 {path}。链接和文件夹不会发送。"
        }
        file_too_large(path, limit) { en: "{path} is larger than {limit} MB.", zh: "{path} 超过 {limit} MB。" }
        no_files_here() { en: "Files cannot be sent here.", zh: "这里无法发送文件。" }
        file_secret(path) {
            en: "{path} may hold secrets, so it does not go to a chat.",
            zh: "{path} 可能含有机密，不会发到聊天里。"
        }
        nothing_changed(key) { en: "{key} has changed nothing yet.", zh: "{key} 还没有改动任何文件。" }
        approved_by(name, place) { en: "✓ approved by {name} ({place})", zh: "✓ 由 {name} 批准（{place}）" }
        denied_by(name, place) { en: "✗ denied by {name} ({place})", zh: "✗ 由 {name} 拒绝（{place}）" }
        denied_by_because(name, place, reason) {
            en: "✗ denied by {name} ({place}): {reason}",
            zh: "✗ 由 {name} 拒绝（{place}）：{reason}"
        }
        expired_undecided() { en: "✗ nobody decided in time", zh: "✗ 无人及时决定" }
        void_because(why) { en: "✗ nothing left to decide: {why}", zh: "✗ 无需再决定：{why}" }
        not_shown_whole() {
            en: "It cannot be shown whole here, so it cannot be approved here: open it in the terminal or on the web.",
            zh: "这里无法完整显示，因此不能在此批准：请在终端或网页中打开。"
        }
        decide_by_words() { en: "Answer this message with yes or no.", zh: "请回复这条消息：同意或拒绝。" }
        choose_by_number() { en: "Answer with a number.", zh: "请回复编号。" }
        press_done() { en: "Done.", zh: "好的。" }
        press_not_yours() { en: "This is not for you to decide.", zh: "这不由你决定。" }
        press_too_late() { en: "This is no longer open.", zh: "这已不再有效。" }
        press_changed() { en: "What was shown has changed, so nothing was decided.", zh: "显示的内容已变，未作任何决定。" }
        answer_here() { en: "Answer this message with your words.", zh: "请直接回复这条消息。" }
        cut_more() { en: "… /more tells the rest", zh: "……/more 查看其余" }

        for_minutes(what, minutes) { en: "{what} · {minutes} min", zh: "{what} · {minutes} 分钟" }
        worked(outcome, took) { en: "{outcome} in {took}", zh: "{outcome}，用时 {took}" }
        steps_done(done, total) { en: "{done} of {total} steps done", zh: "完成 {done}/{total} 步" }

        // Notices.
        in_minutes(n) { en: "{n} min", zh: "{n} 分钟" }
        in_hours(n) { en: "{n} h", zh: "{n} 小时" }
        digest_head(span) { en: "*The last {span}*", zh: "*最近 {span}*" }
        digest_nothing(span) {
            en: "Nothing happened in the last {span}, and nothing needs you.",
            zh: "最近 {span}没有新动静，也没有需要你处理的。"
        }
        digest_needs_you() { en: "❗ Needs you", zh: "❗ 需要你" }
        digest_failed() { en: "✗ Failed", zh: "✗ 失败" }
        digest_done() { en: "✓ Done", zh: "✓ 已完成" }
        digest_working() { en: "⏳ Going on", zh: "⏳ 进行中" }
        reason_approval() { en: "approvals", zh: "批准" }
        reason_question() { en: "questions", zh: "提问" }
        reason_completed() { en: "results", zh: "结果" }
        reason_failed() { en: "failures", zh: "失败" }
        told_here(reasons) { en: "You are told here: {reasons}.", zh: "这里会通知你：{reasons}。" }
        told_nothing_here() {
            en: "You are told nothing here unasked. Your own messages are still answered.",
            zh: "这里不会主动通知你。你的消息仍会得到回复。"
        }
        told_here_of_others() {
            en: "You also hear here of what you do elsewhere.",
            zh: "你在别处进行的任务也会在这里通知。"
        }
        quiet_at(from, until, zone) {
            en: "Quiet from {from} to {until} ({zone}): what happens then comes as one digest.",
            zh: "{from} 至 {until}（{zone}）免打扰：期间的消息会汇总成一条摘要。"
        }
        quiet_but_for(reasons) { en: "Told all the same: {reasons}.", zh: "仍会通知：{reasons}。" }
        quiet_over() { en: "Quiet hours are over", zh: "免打扰时段已结束" }
        quiet_never() { en: "No quiet hours.", zh: "没有设置免打扰时段。" }
        notify_usage() {
            en: "/notify all, /notify off, or /notify with some of: approvals questions results failures. /notify main: hear here of what you do elsewhere.",
            zh: "/notify all 全部，/notify off 关闭，或 /notify 加上：批准 提问 结果 失败。/notify main：在这里接收别处任务的通知。"
        }
        quiet_usage() {
            en: "/quiet 22:00-07:00 Europe/Berlin, or /quiet off.",
            zh: "/quiet 22:00-07:00 Asia/Shanghai，或 /quiet off 关闭。"
        }
        no_such_reason(word) {
            en: "There is nothing called {word} to be told of.",
            zh: "没有叫作 {word} 的通知。"
        }
        bad_quiet_hours() {
            en: "These are no hours of the day, or there is no such time zone.",
            zh: "这不是一段时间，或没有这个时区。"
        }
        bad_notices(why) { en: "That did not work: {why}.", zh: "没有成功：{why}。" }
        not_told(to, why) { en: "✉ {to} was not told: {why}", zh: "✉ {to} 未收到通知：{why}" }
        maybe_told(to, why) { en: "✉ {to} may not have been told: {why}", zh: "✉ {to} 可能未收到通知：{why}" }
        not_sent_held() { en: "waits for quiet hours to end", zh: "等待免打扰时段结束" }
        not_sent_newer() { en: "a newer message took its place", zh: "已被更新的消息取代" }
        not_sent_too_old() { en: "it could not be sent within a day", zh: "一天之内未能发出" }
        not_sent_busy() { en: "the platform asks to come again later", zh: "平台要求稍后再试" }
        not_sent_refused(words) { en: "the platform refuses it: {words}", zh: "平台拒收：{words}" }
        not_sent_no_answer(words) {
            en: "no answer came, so it may have arrived: {words}",
            zh: "没有收到平台的答复，可能已送达：{words}"
        }
        not_sent_interrupted() {
            en: "the daemon ended while sending it, so it may have arrived",
            zh: "发送时守护进程终止，可能已送达"
        }
        not_sent_in_part() { en: "only a part of it is known to have arrived", zh: "只确定送达了一部分" }
        not_sent_nobody() { en: "nobody is paired there any more", zh: "那里已没有配对的人" }
        not_sent_no_channel() { en: "the channel is not set up any more", zh: "该渠道已不再配置" }
        not_sent_unable() { en: "the platform cannot show it", zh: "平台无法显示" }
        not_sent_no_file() { en: "its file is gone, or may hold secrets", zh: "文件已不在，或可能含有机密" }
        not_sent_quiet() { en: "it was quiet, and this is of no use later", zh: "当时免打扰，过后已无意义" }
        more_on_the_page(url) { en: "All of it: {url}", zh: "完整内容：{url}" }
        button_more() { en: "More", zh: "详情" }

        // The terminal.
        no_tasks_yet() { en: "There are no tasks yet: tl say \"…\" starts one", zh: "还没有任务：用 tl say \"…\" 开始一个" }
        no_task_open() {
            en: "No task is open: tl tasks --all lists the closed ones too",
            zh: "没有打开的任务：tl tasks --all 会列出已关闭的"
        }
        more_with_limit() { en: "… and more: --limit N", zh: "……还有更多：--limit N" }
        in_project(name) { en: "You are in project {name}.", zh: "你在项目 {name} 中。" }
        in_no_project() {
            en: "You are in no project yet: go to a repository, and `tl project add .`",
            zh: "你还不在任何项目中：进入一个仓库，然后 `tl project add .`"
        }
        how_to_start(place) {
            en: "Nothing runs yet. {place}\n\nSay what you want:   tl say \"plan look around; write notes\"\nGo on with it:       tl say recall\nSee what happened:   tl tasks, tl show KEY\nUse another agent:   tl agents, then tl say --agent NAME \"…\"\n",
            zh: "还没有任何任务在运行。{place}\n\n说出你想做的：     tl say \"plan look around; write notes\"\n接着做：           tl say recall\n看发生了什么：     tl tasks, tl show KEY\n换一个智能体：     tl agents，然后 tl say --agent NAME \"…\"\n"
        }
    }
    count {
        waiting_taken_back(n) {
            en: "{n} message that waited for it is taken back" or "{n} messages that waited for it are taken back",
            zh: "等待它的 {n} 条消息已收回"
        }
        turns(n) { en: "{n} turn" or "{n} turns", zh: "{n} 轮" }
        more_lines(n) { en: "… {n} more line" or "… {n} more lines", zh: "……还有 {n} 行" }
        files(n) { en: "{n} file" or "{n} files", zh: "{n} 个文件" }
        digest_lost(n) {
            en: "✉ {n} message could not be delivered meanwhile." or "✉ {n} messages could not be delivered meanwhile.",
            zh: "✉ 期间有 {n} 条消息未能送达。"
        }
        failed_meanwhile(n) { en: "{n} task failed." or "{n} tasks failed.", zh: "{n} 个任务失败。" }
        done_meanwhile(n) { en: "{n} task is done." or "{n} tasks are done.", zh: "{n} 个任务已完成。" }
        need_you(n) { en: "{n} task needs you." or "{n} tasks need you.", zh: "有 {n} 个任务需要你。" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn placeholders(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect()
    }

    #[test]
    fn every_language_says_the_same_with_the_same_values() {
        for (key, values, texts) in ENTRIES {
            let expected: BTreeSet<&str> = values.iter().copied().collect();
            for text in *texts {
                assert_eq!(placeholders(text), expected, "{key}: {text}");
                assert!(!text.is_empty(), "{key}");
            }
        }
    }

    #[test]
    fn chinese_is_chinese() {
        let chinese =
            |text: &str| text.chars().any(|letter| ('\u{3000}'..='\u{9fff}').contains(&letter) || letter > '\u{ff00}');
        for (key, _, texts) in ENTRIES {
            let zh = texts.last().expect("a text");
            assert!(chinese(zh), "{key}: {zh}");
            assert!(!chinese(texts[0]), "{key}: {}", texts[0]);
        }
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|n| Locale::En.turns(n)), ["0 turns", "1 turn", "2 turns"]);
        assert_eq!([0, 1, 2].map(|n| Locale::Zh.turns(n)), ["0 轮", "1 轮", "2 轮"]);
    }
}
