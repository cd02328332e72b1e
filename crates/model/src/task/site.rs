//! Workspace changes: begun under the lease or not at all, planned, carried out by the engine, ended once. And forks
//! and executions whose workspace is a worktree of its own.

use super::decide::Draft;
use super::{ForkSeed, Task, TaskEvent};
use crate::handoff::Handoff;
use crate::ids::{ChangeId, ExecutionId, HandoffId, Id as _, PersonId};
use crate::rejection::Rejection;
use crate::site::{ChangeKind, ChangePlan, ChangeResult, WorktreeSeed};

impl Draft {
    /// Takes the workspace for a change. Whether somebody else has it is for the workspace to say, in the same
    /// transaction: `react` asks for it.
    pub(super) fn change_workspace(
        &mut self,
        change: ChangeId,
        person: PersonId,
        kind: ChangeKind,
        execution: Option<ExecutionId>,
    ) -> Result<(), Rejection> {
        let site = match execution {
            Some(execution) => self.task.site.own(execution).ok_or(Rejection::NotAFork)?,
            None => &self.task.site,
        };
        if let Some(other) = &site.change {
            return Err(Rejection::WorkspaceBusy { holder: other.kind.doing().to_owned() });
        }
        if self.works_at(&site.root) {
            return Err(Rejection::TurnRunning);
        }
        if site.removed.is_some() {
            return Err(Rejection::WorkspaceGone);
        }
        self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind, execution });
        Ok(())
    }

    /// Whether a turn runs in a place, or waits for it.
    fn works_at(&self, root: &str) -> bool {
        let mut active = self.task.executions.iter().filter(|execution| execution.active.is_some());
        active.any(|execution| self.task.site_of(execution.id).root == root)
    }

    /// A plan is made once: what was found the first time is the state before.
    pub(super) fn plan_change(&mut self, change: ChangeId, plan: ChangePlan) -> Result<(), Rejection> {
        match self.task.site.holding(change) {
            None => Err(Rejection::NotFound { what: "workspace change" }),
            Some((_, _, known)) if known.plan.is_some() => Ok(()),
            Some(_) => {
                self.emit(TaskEvent::WorkspaceChangePlanned { change, plan });
                Ok(())
            }
        }
    }

    /// What was taken is done with: a fork is closed, and the folder goes if nothing is lost by that.
    pub(super) fn end_change(&mut self, change: ChangeId, result: ChangeResult) -> Result<(), Rejection> {
        let Some((execution, site, known)) = self.task.site.holding(change) else {
            return Err(Rejection::NotFound { what: "workspace change" });
        };
        let (root, person) = (site.root.clone(), known.person);
        let given = matches!((&known.kind, &result), (ChangeKind::Yield { .. }, ChangeResult::Done { .. }));
        match execution {
            Some(execution) if given => self.park_if_idle(execution, "its changes were taken"),
            // What waits for the workspace must not get it in between.
            None if given => self.close(person),
            Some(_) | None => {}
        }
        self.emit(TaskEvent::WorkspaceChangeEnded { change, result });
        if given && !self.works_at(&root) {
            let change = self.mint.id();
            self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind: ChangeKind::Remove {}, execution });
        }
        Ok(())
    }

    /// Removes the workspace of a fork and closes it, or the worktree of an execution. With the one that unmarked
    /// messages go to, the task is closed too.
    pub(super) fn discard(
        &mut self,
        change: ChangeId,
        person: PersonId,
        execution: Option<ExecutionId>,
    ) -> Result<(), Rejection> {
        let execution = self.task.worktree_meant(execution)?;
        self.change_workspace(change, person, ChangeKind::Remove {}, execution)?;
        let primary = self.task.primary().map(|primary| primary.id);
        match execution {
            Some(execution) if primary.is_none_or(|primary| !self.task.together(primary, execution)) => {
                self.park_if_idle(execution, "its worktree was discarded");
            }
            Some(_) | None => self.close(person),
        }
        Ok(())
    }

    /// A workspace that was removed is made again when its task goes on.
    pub(super) fn return_to_site(&mut self, execution: Option<ExecutionId>) -> Result<(), Rejection> {
        let site = match execution.and_then(|execution| self.task.site.own(execution)) {
            Some(own) => own,
            None if execution.is_some() => return Ok(()),
            None => &self.task.site,
        };
        if site.leaving() {
            return Err(Rejection::WorkspaceBusy { holder: ChangeKind::Remove {}.doing().to_owned() });
        }
        if let (Some(removed), Some(fork), None) = (&site.removed, &site.fork, &site.change) {
            let person = removed.person;
            let kind = ChangeKind::Prepare {
                tree: removed.tree.clone(),
                from: fork.from.clone(),
                commit: removed.commit.clone(),
            };
            let change = self.mint.id();
            self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind, execution });
        }
        Ok(())
    }

    /// Lets an execution work apart from the others. Its first turn waits until the worktree is made.
    pub(super) fn give_worktree(&mut self, execution: ExecutionId, seed: WorktreeSeed) -> Result<(), Rejection> {
        let Some(target) = self.task.execution(execution) else {
            return Err(Rejection::NotFound { what: "execution" });
        };
        if target.past.turns > 0 || target.active.is_some() || self.task.site.own(execution).is_some() {
            return Err(Rejection::Exists { what: "its workspace" });
        }
        let WorktreeSeed { root, base, change, person } = seed;
        let kind = ChangeKind::Prepare { tree: base.clone(), from: self.task.site.root.clone(), commit: None };
        self.emit(TaskEvent::WorktreeGiven { execution, root, base });
        self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind, execution: Some(execution) });
        Ok(())
    }

    /// Who takes over from an execution goes on where it worked.
    pub(super) fn hand_on_worktree(&mut self, from: ExecutionId, to: ExecutionId) {
        let own = self.task.site.own(from);
        if let Some((root, base)) = own.and_then(|own| Some((own.root.clone(), own.fork.as_ref()?.base.clone()))) {
            self.emit(TaskEvent::WorktreeGiven { execution: to, root, base });
        }
    }

    /// What a task that has just been made gets from the one that it is a fork of.
    pub(super) fn become_fork(&mut self, seed: ForkSeed) -> Result<(), Rejection> {
        let Some(execution) = self.task.primary().map(|execution| execution.id) else {
            return Err(Rejection::NotFound { what: "execution" });
        };
        if self.task.site.fork.is_some() || self.task.site.change.is_some() {
            return Err(Rejection::Exists { what: "the fork" });
        }
        let ForkSeed { fork, change, person, native, model, plan, notes, cut } = seed;
        let source = fork.source;
        let prepare = ChangeKind::Prepare { tree: fork.base.clone(), from: fork.from.clone(), commit: None };
        self.emit(TaskEvent::TaskForked { fork, native });
        self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind: prepare, execution: None });
        if let Some(model) = model {
            self.emit(TaskEvent::ModelChosen { execution, model });
        }
        if !plan.entries.is_empty() {
            self.emit(TaskEvent::PlanRevised { plan });
        }
        for text in notes {
            self.emit(TaskEvent::NotePinned { person, text });
        }
        if cut.is_some() {
            let id = HandoffId::derive(execution.uuid(), "fork");
            let handoff = Handoff { id, to: execution, from: Some(source), cut, text: String::new() };
            self.emit(TaskEvent::HandoffPrepared { handoff });
        }
        Ok(())
    }
}

impl Task {
    /// Which worktree is to be taken or discarded: that of an execution, or the task's own workspace if it is a fork. What
    /// is not said is the only thing that it can be, or where the execution works that unmarked messages go to.
    ///
    /// # Errors
    /// If there is none, or it is not clear which.
    pub fn worktree_meant(&self, said: Option<ExecutionId>) -> Result<Option<ExecutionId>, Rejection> {
        let primary = self.primary().map(|primary| primary.id);
        match (said.or(primary.filter(|primary| self.site.own(*primary).is_some())), &self.site.worktrees[..]) {
            (Some(execution), _) if self.site.own(execution).is_some() => Ok(Some(execution)),
            (Some(_), _) => Err(Rejection::NotAFork),
            (None, _) if self.site.fork.is_some() => Ok(None),
            (None, []) => Err(Rejection::NotAFork),
            (None, [only]) => Ok(only.executions.last().copied()),
            (None, several) => Err(Rejection::WhichWorktree { count: several.len() }),
        }
    }
}
